/** Reasons why devices do not satisfy a request, and the text for a pod without a node. */
import type { Alternative } from './claim-requests.ts';
import { mismatchOf } from './device-matches.ts';
import type { PoolDevice } from './pool-device.ts';
import { BudgetError, SearchBudget } from './search-budget.ts';
import { shown } from './shown-text.ts';

export interface Rejection {
  readonly kind: 'in-use' | 'counters' | 'selector' | 'runtime' | 'taint' | 'constraint' | 'capacity' | 'topology';
  /** Selector or attribute. */
  readonly text?: string;
}

/** Rejections of the request at which a search failed. */
export class Rejections {
  /** True if a request for all devices matches more devices than a claim can have. */
  hasTooMany = false;
  #deepest = -1;
  #filled = 0;
  #counts = false;
  #alternative: Alternative | undefined;
  readonly #byDevice = new Map<PoolDevice, Rejection>();
  /** Budget of the search. Texts evaluate selectors too. */
  readonly #budget: SearchBudget;

  constructor(budget = new SearchBudget()) {
    this.#budget = budget;
  }

  /** Sets the request that is tried. Only rejections of the deepest request count, and of its first alternative. */
  focus(at: number, alternative: Alternative): void {
    if (at > this.#deepest) {
      this.#deepest = at;
      this.#alternative = alternative;
      this.#filled = 0;
      this.#byDevice.clear();
    }
    this.#counts = alternative === this.#alternative;
  }

  add(device: PoolDevice, rejection: Rejection): undefined {
    if (this.#counts && !this.#byDevice.has(device)) this.#byDevice.set(device, rejection);
  }

  /** Records how many devices of the current request were found. */
  found(count: number): void {
    if (this.#counts) this.#filled = Math.max(this.#filled, count);
  }

  /** Number of devices that were found for the request. */
  get filled(): number {
    return this.#filled;
  }

  /** Returns true if this search came closer to a solution than another search. */
  isNearerThan(other: Rejections): boolean {
    if (this.#deepest !== other.#deepest) return this.#deepest > other.#deepest;
    return (
      this.#filled > other.#filled || (this.#filled === other.#filled && this.#byDevice.size > other.#byDevice.size)
    );
  }

  get alternative(): Alternative | undefined {
    return this.#alternative;
  }

  /**
   * Rejections among the devices of the drivers that the request selects. If the selectors accept some devices, only the
   * rejections of these.
   */
  get relevant(): readonly Rejection[] {
    const drivers = this.drivers;
    const all = [...this.#byDevice]
      .filter(([{ driver }]) => drivers.length === 0 || drivers.includes(driver))
      .map(([device, rejection]) => (rejection.kind === 'in-use' ? this.#read(device, rejection) : rejection));
    const selected = all.filter(({ kind }) => kind !== 'selector');
    return selected.length > 0 ? selected : all;
  }

  /** Returns the rejection by a selector, if the selectors do not accept the device either. */
  #read(device: PoolDevice, rejection: Rejection): Rejection {
    if (this.#alternative === undefined) return rejection;
    try {
      const mismatch = mismatchOf(device, this.#alternative, this.#budget);
      return mismatch === undefined ? rejection : { kind: 'selector', text: mismatch.text };
    } catch (error) {
      if (error instanceof BudgetError) return rejection;
      throw error;
    }
  }

  get drivers(): readonly string[] {
    return [...new Set(this.#alternative?.selectors.flatMap(({ selector }) => selector.drivers) ?? [])];
  }
}

const identityOf = ({ kind, text = '' }: Rejection): string => `${kind} ${text}`;

const WORDS: Readonly<Record<Rejection['kind'], (count: number, text: string) => string>> = {
  'in-use': (count) => `all ${count} matching devices are in use`,
  counters: (count) => `the shared counters of ${count} devices are in use`,
  selector: (count, text) => `${count} devices rejected by selector "${text}"`,
  runtime: (_, text) => `attribute ${text} is known only after launch`,
  taint: (count) => `${count} devices have taints that the request does not tolerate`,
  constraint: (count, text) => `${count} devices violate the constraint on ${text}`,
  capacity: (count) => `${count} devices have too little capacity`,
  topology: (count) => `${count} devices are not reachable from the node`,
};

/** Returns the most frequent item, and among equals the first. */
function mostFrequent<T>(
  items: readonly T[],
  idOf: (item: T) => string,
): { readonly item: T; readonly all: readonly T[] } | undefined {
  const groups = [...Map.groupBy(items, idOf).values()];
  const most = groups.reduce<readonly T[]>((best, group) => (group.length > best.length ? group : best), []);
  const [item] = most;
  return item === undefined ? undefined : { item, all: most };
}

/** Failed search on one instance type. */
export interface TypeFailure {
  readonly type: string;
  readonly rejections: Rejections;
}

/** Most frequent rejections of a failed search. */
interface MainCause extends TypeFailure {
  readonly main: { readonly item: Rejection; readonly all: readonly Rejection[] } | undefined;
  readonly id: string;
}

const FEW = 'few';

function mainCauseOf(failure: TypeFailure): MainCause {
  const { relevant, drivers } = failure.rejections;
  const main = mostFrequent(relevant, identityOf);
  const none = failure.rejections.filled === 0 ? `none ${drivers}` : FEW;
  return { ...failure, main, id: main === undefined ? none : identityOf(main.item) };
}

/**
 * Returns the most frequent reason why no instance type can satisfy a claim, and the type that lacks the least, or an empty text.
 */
export function reasonText(failures: readonly TypeFailure[]): string {
  const causes = failures.map(mainCauseOf);
  const most = mostFrequent(causes, ({ id }) => id);
  const alternative = most?.item.rejections.alternative;
  if (most === undefined || alternative === undefined) return '';
  const { main, rejections } = most.item;
  const count = most.all.reduce((sum, each) => sum + (each.main?.all.length ?? 0), 0);
  const lack = most.item.id === FEW ? 'too few devices' : 'no devices';
  const cause =
    main === undefined
      ? `${most.all.length} types have ${lack}${driverText(rejections.drivers)}`
      : WORDS[main.item.kind](count, shown(main.item.text ?? ''));
  const request = `request "${alternative.request}" (class ${alternative.className})`;
  return `: no known device matches ${request}: ${cause}${nearestText(causes, most.item.id)}`;
}

/** Returns the type that comes closest to a solution. Its cause is omitted if it is the most frequent cause. */
function nearestText(causes: readonly MainCause[], mostFrequentId: string): string {
  const [first, ...others] = causes.filter(({ main, id }) => main !== undefined || id === FEW);
  if (first === undefined) return '';
  const isOnly = causes.length === 1;
  const { type, rejections, main, id } = others.reduce(
    (best, each) => (each.rejections.isNearerThan(best.rejections) ? each : best),
    first,
  );
  const { alternative, filled } = rejections;
  const { request, count = 1 } = alternative ?? { request: '' };
  const progress = count > 1 ? ` with ${filled} of ${count} devices for request "${request}"` : '';
  const own =
    id === mostFrequentId || main === undefined
      ? ''
      : `: ${WORDS[main.item.kind](main.all.length, shown(main.item.text ?? ''))}`;
  if (isOnly && progress === '') return '';
  return `; the nearest type is ${shown(type)}${progress}${own}`;
}

const driverText = (drivers: readonly string[]): string =>
  drivers.length === 0 ? '' : ` of driver ${drivers.map((driver) => shown(driver)).join(' or ')}`;
