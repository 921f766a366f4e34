/** Lower bound of the price of a plan if nodes could be launched in fractions: a linear programme. */
import highsModule from 'highs';
import {
  allocatable,
  cheapestPrice,
  LOOSE,
  podRequests,
  type Resources,
  requirementsOf,
  type Snapshot,
  templateRequirements,
} from '#engine/model';

/** Equal pods. */
interface Sort {
  readonly requests: Resources;
  count: number;
}

interface Room {
  readonly usd: number;
  readonly room: Resources;
}

/** The types declare a default export, but the CommonJS module exports the function itself. */
const loadHighs = highsModule as unknown as typeof highsModule.default;

/** Loaded once, because an instance takes longer to create than most programmes take to solve. */
let loaded: ReturnType<typeof loadHighs> | undefined;

/** Scales amounts to similar sizes, so that the solver's tolerances are negligible. */
const scaled = (name: string, amount: number): number => (name === 'memory' ? amount / 2 ** 20 : amount);

const sum = (terms: readonly string[]): string => (terms.length === 0 ? '0' : terms.join(' + '));

function sortsOf({ pendingPods }: Snapshot): readonly Sort[] {
  const sorts = new Map<string, Sort>();
  for (const pod of pendingPods) {
    const requests = podRequests(pod);
    const id = JSON.stringify(requests);
    const sort = sorts.get(id) ?? { requests, count: 0 };
    sort.count++;
    sorts.set(id, sort);
  }
  return [...sorts.values()];
}

function programme(sorts: readonly Readonly<Sort>[], types: readonly Room[]): string {
  const prices: string[] = [];
  const rows: string[] = [];
  const housed = sorts.map((): string[] => []);
  for (const [t, { usd, room }] of types.entries()) {
    prices.push(`${usd} n${t}`);
    const fitting = sorts
      .map(({ requests }, s) => ({ requests, s }))
      .filter(({ requests }) => Object.entries(requests).every(([name, amount]) => amount <= (room[name] ?? 0)));
    for (const { s } of fitting) housed[s]?.push(`x${s}_${t}`);
    for (const name of Object.keys(room)) {
      const taken = fitting
        .filter(({ requests }) => (requests[name] ?? 0) > 0)
        .map(({ requests, s }) => `${scaled(name, requests[name] ?? 0)} x${s}_${t}`);
      if (taken.length > 0) rows.push(`${sum(taken)} - ${scaled(name, room[name] ?? 0)} n${t} <= 0`);
    }
  }
  for (const [s, { count }] of sorts.entries()) rows.push(`${sum(housed[s] ?? [])} = ${count}`);
  const constraints = rows.map((row, index) => ` c${index}: ${row}`).join('\n');
  return `Minimize\n price: ${sum(prices)}\nSubject To\n${constraints}\nEnd`;
}

/** Lower bound in USD per hour for snapshots with a single NodePool and pods with only resource requests. */
export async function lowerBound(snapshot: Snapshot): Promise<number> {
  const [pool] = snapshot.pools;
  if (pool === undefined || snapshot.pools.length > 1 || snapshot.daemonPods.length > 0)
    throw new Error('The bound is for one pool without daemons');
  const requirements = templateRequirements(pool.nodePool);
  const types = pool.instanceTypes.filter(
    (type) =>
      Number.isFinite(cheapestPrice(type, requirements)) && requirements.compatible(requirementsOf(type), LOOSE),
  );
  const rooms = types.map((type) => ({ usd: cheapestPrice(type, requirements), room: allocatable(type) }));
  return await priceOfFractions(sortsOf(snapshot), rooms);
}

/** Returns the price of fractions of instance types that run the pods, in USD per hour. */
export async function priceOfFractions(sorts: readonly Readonly<Sort>[], types: readonly Room[]): Promise<number> {
  loaded ??= loadHighs();
  const highs = await loaded;
  const solution = highs.solve(programme(sorts, types));
  if (solution.Status !== 'Optimal') throw new Error(`The bound was not found: ${solution.Status}`);
  return solution.ObjectiveValue;
}
