/** Nodes and pods as rows of the live page. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, type Pod, ZONE_LABEL } from '#api/objects';
import { idleShare } from '#engine/costs';
import { isEmptying, type Verdict } from '#engine/disruption';
import {
  addResources,
  amountIn,
  isOwnedByDaemonSet,
  isTerminal,
  isTerminating,
  podRequests,
  type StateNode,
} from '#engine/model';
import { own, timeOf } from '#lib';
import type { LiveNodePrice } from './costs.ts';
import type { LiveNode, PodBlock, PodState, RequestedShare } from './model.ts';

/** Resources that every node has. Further resources are shown only if a node offers them. */
const ALWAYS = ['cpu', 'memory', 'pods'];
/** Resources that are never shown, because nearly every node has them and pods rarely request them. */
const NEVER = /^(hugepages-|ephemeral-storage$|attachable-volumes-)/;

/** Maximum number of kinds of blocks of a node. The smallest pods of a node with more kinds share a block. */
const MOST_BLOCKS = 40;

/** Rows by node object. The data of a row never changes within an object. */
type Row = Omit<LiveNode, 'usdPerHour' | 'idleUsdPerHour' | 'surplusCreditsUsdPerHour' | 'verdict'>;
const known = new WeakMap<StateNode, Row>();

export function nodeRow(node: StateNode, price: LiveNodePrice | undefined, verdict: Verdict | undefined): LiveNode {
  let row = known.get(node);
  if (row === undefined) {
    row = rowOf(node);
    known.set(node, row);
  }
  return {
    ...row,
    ...shownPrice(price, node),
    ...(verdict === undefined ? {} : { verdict: shownVerdict(verdict) }),
  };
}

/** Returns the price without surplus CPU of 0, which most nodes have. */
function shownPrice(
  price: LiveNodePrice | undefined,
  node: StateNode,
): Pick<LiveNode, 'usdPerHour' | 'idleUsdPerHour' | 'surplusCreditsUsdPerHour'> {
  if (price === undefined) return {};
  const { usdPerHour, surplusCreditsUsdPerHour } = price;
  return {
    usdPerHour,
    idleUsdPerHour: Number((usdPerHour * idleShare(node)).toFixed(6)),
    ...(surplusCreditsUsdPerHour > 0 && { surplusCreditsUsdPerHour }),
  };
}

function shownVerdict({ code, text, object }: Verdict): NonNullable<LiveNode['verdict']> {
  if (object === undefined) return { code, text };
  const { kind, namespace, name } = object;
  return { code, text, object: `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}` };
}

function rowOf(node: StateNode): Row {
  const { labels, nodeClaim } = node;
  const label = (key: string): string => own(labels, key) ?? '';
  const createdMs = timeOf((nodeClaim ?? node.node)?.metadata.creationTimestamp);
  const shares = sharesOf(node);
  return {
    name: node.name,
    ...(nodeClaim === undefined ? {} : { nodeClaim: nodeClaim.metadata.name }),
    nodePool: label(NODEPOOL_LABEL),
    instanceType: label(INSTANCE_TYPE_LABEL),
    zone: label(ZONE_LABEL),
    capacityType: label(CAPACITY_TYPE_LABEL),
    createdMs: Number.isNaN(createdMs) ? 0 : createdMs,
    state: stateOf(node),
    ...(isEmptying(node) && { isEmptying: true }),
    pods: node.pods.filter((pod) => !isTerminal(pod)).length,
    shares,
    blocks: blocksOf(node.pods, shares),
  };
}

function stateOf({ markedForDeletion, initialized, node }: StateNode): LiveNode['state'] {
  if (markedForDeletion) return 'leaving';
  if (initialized) return 'ready';
  return node === undefined ? 'launching' : 'starting';
}

function sharesOf({ allocatable, pods }: StateNode): Readonly<Record<string, RequestedShare>> {
  const requested = addResources(...pods.filter((pod) => !isTerminal(pod)).map(podRequests));
  const devices = Object.keys(allocatable).filter(
    (name) => !ALWAYS.includes(name) && !NEVER.test(name) && amountIn(allocatable, name) > 0,
  );
  return Object.fromEntries(
    [...ALWAYS, ...devices].map((name) => [name, [amountIn(requested, name), amountIn(allocatable, name)] as const]),
  );
}

/** Returns the blocks of the pods, in thousandths of the resource with the highest requested share. */
function blocksOf(pods: readonly Pod[], shares: LiveNode['shares']): readonly PodBlock[] {
  const used = ([requested, allocatable]: RequestedShare): number => (allocatable > 0 ? requested / allocatable : 0);
  const [tightest] = Object.entries(shares)
    .filter(([name]) => name !== 'pods')
    .sort(([, a], [, b]) => used(b) - used(a));
  if (tightest === undefined) return [];
  const [resource, [, allocatable]] = tightest;
  const counts = new Map<string, number>();
  for (const pod of pods) {
    if (isTerminal(pod)) continue;
    const share = allocatable > 0 ? Math.round((1_000 * amountIn(podRequests(pod), resource)) / allocatable) : 0;
    const kind = `${share} ${podState(pod)}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const blocks = [...counts].map(([kind, count]): PodBlock => {
    const [share = '', state = ''] = kind.split(' ');
    return [Number(share), state as PodState, count];
  });
  return withinLimit(blocks.sort(([a, stateA], [b, stateB]) => b - a || (stateA < stateB ? -1 : 1)));
}

/** Replaces the smallest blocks by one block of their average size if there are too many. */
function withinLimit(blocks: readonly PodBlock[]): readonly PodBlock[] {
  if (blocks.length <= MOST_BLOCKS) return blocks;
  const rest = blocks.slice(MOST_BLOCKS - 1);
  const pods = rest.reduce((sum, [, , count]) => sum + count, 0);
  const share = rest.reduce((sum, [each, , count]) => sum + each * count, 0) / pods;
  return [...blocks.slice(0, MOST_BLOCKS - 1), [Math.round(share), 'running', pods]];
}

function podState(pod: Pod): PodState {
  if (isTerminating(pod)) return 'leaving';
  if (isOwnedByDaemonSet(pod)) return 'daemon';
  return pod.status?.phase === 'Running' ? 'running' : 'starting';
}

/** Returns the start of a pod's wait in milliseconds since the epoch, or 0 if it is unknown. */
export function waitsSince({ metadata, status }: Pod): number {
  const { lastTransitionTime } = status?.conditions?.find(({ type }) => type === 'PodScheduled') ?? {};
  const sinceMs = timeOf(lastTransitionTime ?? metadata.creationTimestamp);
  return Number.isNaN(sinceMs) ? 0 : sinceMs;
}
