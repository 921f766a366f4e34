/** Plays the commands of the disruption methods on a snapshot until no command is left, and compares the begin with the end. */
import {
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type NodeClaim,
  type Pod,
  REGISTERED_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import { billedPriceOf, nodePrices } from '#engine/costs';
import {
  bothSavings,
  type Command,
  type Decision,
  decisionOf,
  type Method,
  type PassInput,
  review,
} from '#engine/disruption';
import {
  allocatable,
  cheapestPrice,
  type InstanceType,
  type PlannedClaim,
  type PoolInput,
  podKey,
  preferredOffering,
  quantityList,
  Requirements,
  type Snapshot,
  type StateNode,
} from '#engine/model';
import { own, timestamp } from '#lib';
import { claimsAfter, slicesOfNode } from './disruption-devices.ts';

/** Maximum number of commands. A large cluster can need thousands of them. */
const MOST_COMMANDS = 100;
/** Maximum duration, because each command needs new simulations. */
const MOST_MS = 20_000;

/** Nodes of NodePools at a time, and their price as AWS bills it in USD per hour. */
interface Sum {
  readonly nodes: number;
  readonly billedPrice: number;
}

interface Step {
  readonly method: string;
  readonly decision: Decision;
  /** Names of nodes. Nodes that an earlier step launched are named `new-1`, `new-2` and so on. */
  readonly candidates: readonly string[];
  /** Number of launched nodes. */
  readonly replacements: number;
  readonly savings: number;
  readonly planningSavings?: number;
}

export interface DisruptionEnd {
  readonly before: Sum;
  readonly after: Sum;
  readonly steps: readonly Step[];
  /** False if further commands would follow, because the simulation reached a limit. */
  readonly complete: boolean;
}

export interface EndStart {
  readonly snapshot: Snapshot;
  readonly pools: readonly PoolInput[];
  /** Enabled methods, in order. */
  readonly methods: readonly Method[];
  /** Returns the input of the methods for a snapshot. */
  readonly passOn: (snapshot: Snapshot) => PassInput;
}

/**
 * Carries out the commands one after another, as an operator would do when the budgets allow it and `consolidateAfter` of the new
 * nodes has elapsed.
 */
export async function disruptionEnd({ snapshot: first, pools, methods, passOn }: EndStart): Promise<DisruptionEnd> {
  const startedMs = performance.now();
  const steps: Step[] = [];
  let snapshot = first;
  const result = (complete: boolean): DisruptionEnd => ({
    before: sumOf(first, pools),
    after: sumOf(snapshot, pools),
    steps,
    complete,
  });
  let launched = 0;
  for (;;) {
    const found = await firstCommands(methods, passOn(snapshot));
    if (found === undefined) return result(true);
    for (const command of found.commands) {
      if (steps.length >= MOST_COMMANDS || performance.now() - startedMs > MOST_MS) return result(false);
      snapshot = after(snapshot, command, { pools, launched });
      launched += command.replacements.length;
      steps.push(stepOf(found.method, command));
    }
  }
}

async function firstCommands(
  methods: readonly Method[],
  pass: PassInput,
): Promise<{ readonly method: Method; readonly commands: readonly Command[] } | undefined> {
  for (const method of methods) {
    const { commands } = (await review(method, pass)).result;
    if (commands.length > 0) return { method, commands };
  }
  return undefined;
}

const stepOf = (method: Method, command: Command): Step => ({
  method: method.name.replaceAll(' ', '-'),
  decision: decisionOf(command),
  candidates: command.candidates.map(({ name }) => name),
  replacements: command.replacements.length,
  ...bothSavings(command),
});

function sumOf({ nodes, commitments }: Snapshot, pools: readonly PoolInput[]): Sum {
  const managed = nodes.filter(({ labels }) => own(labels, NODEPOOL_LABEL) !== undefined);
  const prices = nodePrices(nodes, pools, commitments);
  const usd = managed.reduce((sum, { providerId }) => {
    const price = prices.get(providerId);
    return sum + (price === undefined ? 0 : billedPriceOf(price));
  }, 0);
  return { nodes: managed.length, billedPrice: Number(usd.toFixed(6)) };
}

interface Launching {
  readonly pools: readonly PoolInput[];
  /** Number of nodes that were launched before. */
  readonly launched: number;
}

/** Returns the snapshot after a command. Pods without a place are pending. */
function after(
  snapshot: Snapshot,
  { candidates, replacements, plan }: Command,
  { pools, launched }: Launching,
): Snapshot {
  const gone = new Set(candidates.map(({ providerId }) => providerId));
  const moving = new Map(
    candidates.flatMap(({ reschedulablePods }) => reschedulablePods as readonly Pod[]).map((pod) => [podKey(pod), pod]),
  );
  const bound = (keys: readonly string[] = [], nodeName: string): readonly Pod[] =>
    keys.flatMap((key) => {
      const pod = moving.get(key);
      if (pod === undefined) return [];
      moving.delete(key);
      return [{ ...pod, spec: { ...pod.spec, nodeName } }];
    });
  const uids = new Set([...moving.values()].map(({ metadata }) => metadata.uid ?? ''));
  const arriving = new Map(plan?.placements.map(({ providerId, pods }) => [providerId, pods]));
  const arrived = new Map<string, readonly Pod[]>();
  const staying = snapshot.nodes
    .filter(({ providerId }) => !gone.has(providerId))
    .map((node) => {
      const more = bound(arriving.get(node.providerId), node.name);
      arrived.set(node.providerId, more);
      return more.length === 0 ? node : { ...node, pods: [...node.pods, ...more] };
    });
  const fresh = replacements.flatMap((claim, at) => {
    const name = `new-${launched + at + 1}`;
    const node = launchedNode(claim, name, { pools, nowMs: snapshot.nowMs });
    if (node === undefined) return [];
    const pods = bound(claim.pods, name);
    arrived.set(node.providerId, pods);
    return [{ ...node, pods }];
  });
  const next = {
    ...snapshot,
    nodes: [...staying, ...fresh],
    pendingPods: [...snapshot.pendingPods, ...[...moving.values()].map(pending)],
  };
  if (snapshot.resourceClaims === undefined) return next;
  const published = fresh.flatMap(({ name, labels }) => {
    const [nodePool, type] = [labels[NODEPOOL_LABEL], labels[INSTANCE_TYPE_LABEL] ?? ''];
    const templates = pools.find((pool) => pool.nodePool.metadata.name === nodePool)?.deviceTemplates?.get(type);
    return templates === undefined ? [] : slicesOfNode(templates, name);
  });
  const withSlices = { ...next, resourceSlices: [...(snapshot.resourceSlices ?? []), ...published] };
  return { ...withSlices, resourceClaims: claimsAfter(withSlices, { arriving: arrived, moving: uids }) };
}

const pending = ({ spec: { nodeName: _, ...spec }, ...pod }: Pod): Pod => ({ ...pod, spec });

/** State of a node that has just been initialized. */
const INITIALIZED = {
  registered: true,
  initialized: true,
  markedForDeletion: false,
  nominatedUntilMs: 0,
  bufferPods: 0,
};

/** Returns the node of a claim with its cheapest offering, or undefined if no type is available. */
function launchedNode(
  claim: PlannedClaim,
  name: string,
  { pools, nowMs }: Pick<Launching, 'pools'> & { readonly nowMs: number },
): Omit<StateNode, 'pods'> | undefined {
  const pool = pools.find(({ nodePool }) => nodePool.metadata.name === claim.nodePool);
  const requirements = Requirements.fromRequirements(claim.requirements);
  const type = pool && typeOf(claim, pool, requirements);
  const offering = type && preferredOffering(type, requirements);
  if (pool === undefined || type === undefined || offering === undefined) return undefined;
  const singleValueOf = (key: string): string =>
    offering.requirements.find((each) => each.key === key)?.values?.[0] ?? '';
  const labels = {
    ...claim.labels,
    ...Object.fromEntries(
      type.requirements.flatMap(({ key, values = [] }) => (values.length === 1 ? [[key, values[0] as string]] : [])),
    ),
    [INSTANCE_TYPE_LABEL]: type.name,
    [ZONE_LABEL]: singleValueOf(ZONE_LABEL),
    [CAPACITY_TYPE_LABEL]: singleValueOf(CAPACITY_TYPE_LABEL),
    [NODEPOOL_LABEL]: claim.nodePool,
    [HOSTNAME_LABEL]: name,
    [REGISTERED_LABEL]: 'true',
    [INITIALIZED_LABEL]: 'true',
  };
  const { nodeClassRef, expireAfter, terminationGracePeriod, taints = [] } = pool.nodePool.spec.template.spec;
  const { annotations } = claim;
  const providerId = `simulated:///${name}`;
  const at = timestamp(nowMs);
  const nodeClaim: NodeClaim = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, uid: name, labels, annotations, creationTimestamp: at },
    spec: {
      nodeClassRef,
      requirements: claim.requirements,
      ...(expireAfter !== undefined && { expireAfter }),
      ...(terminationGracePeriod !== undefined && { terminationGracePeriod }),
    },
    status: {
      providerID: providerId,
      conditions: ['Launched', 'Registered', 'Initialized', 'Consolidatable'].map((condition) => ({
        type: condition,
        status: 'True',
        reason: condition,
        message: '',
        lastTransitionTime: at,
      })),
    },
  };
  return {
    name,
    providerId,
    labels,
    annotations,
    taints,
    nodeClaim,
    node: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, uid: name, labels, annotations, creationTimestamp: at },
      spec: { providerID: providerId, taints },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        capacity: quantityList(type.capacity),
        allocatable: quantityList(allocatable(type)),
      },
    },
    ...INITIALIZED,
    capacity: type.capacity,
    allocatable: allocatable(type),
  };
}

/** Returns the cheapest type of a claim. For a claim that only its NodePool determines, compares all types. */
function typeOf(
  { cheapest }: PlannedClaim,
  { instanceTypes }: PoolInput,
  requirements: Requirements,
): InstanceType | undefined {
  if (cheapest !== '') return instanceTypes.find(({ name }) => name === cheapest);
  const [first] = instanceTypes
    .map((type) => ({ type, usd: cheapestPrice(type, requirements) }))
    .filter(({ usd }) => Number.isFinite(usd))
    .sort((a, b) => a.usd - b.usd);
  return first?.type;
}
