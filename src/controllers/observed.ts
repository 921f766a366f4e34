/** Reports decisions of observed NodePools, which are not carried out. */
import { apiVersionOf, NODE_POOL, type NodeClaim, poolNameOf } from '#api/objects';
import { billedUsdPerHour } from '#engine/costs';
import { billedSavingsOf, type Command, decisionOf } from '#engine/disruption';
import { type PlannedClaim, podKey } from '#engine/model';
import { timestamp } from '#lib';
import { eventOf, WOULD_ACT } from '#observe/events';
import { MOST_NAMES, namespacesOf, type Observed } from '#observe/history';
import { OBSERVED_DECISIONS } from '#observe/metrics';
import type { Deps } from './deps.ts';
import { reschedulablePods } from './disrupted.ts';
import { firstFew, snakeCase } from './text.ts';

type ReportDeps = Pick<Deps, 'clock' | 'cluster' | 'decisions' | 'events' | 'log' | 'metrics'>;
type Report = Omit<Observed, 'kind' | 'at'>;

const usd = (perHour: number): string => `$${perHour.toFixed(4)} an hour`;
const podsText = (count: number): string => (count === 1 ? '1 pod' : `${count} pods`);

/** Returns a sentence such as `would launch m5.large for 3 pods at $0.0960 an hour`. */
export const wouldLaunch = (claim: PlannedClaim): string =>
  `would launch ${claim.cheapest} for ${podsText(claim.pods.length)} at ${usd(billedUsdPerHour(claim))}`;

/** Returns a sentence such as `would delete node a, saves $0.0960 an hour`. */
export function wouldDisrupt(command: Command): string {
  const { candidates, replacements } = command;
  const names = firstFew(candidates.map(({ name }) => name));
  const by = replacements.map(({ cheapest }) => cheapest);
  const savings = billedSavingsOf(command);
  return (
    `would ${decisionOf(command)} ${candidates.length === 1 ? 'node' : 'nodes'} ${names}` +
    `${by.length === 0 ? '' : ` by ${firstFew(by)}`}${savings > 0 ? `, saves ${usd(savings)}` : ''}`
  );
}

/** Reports a launch, once for its pods. */
export function reportLaunch(deps: ReportDeps, claim: PlannedClaim): void {
  const { nodePool, pods } = claim;
  const added = pods.filter((pod) => deps.cluster.observation.isNew(`launch ${nodePool} ${pod}`));
  if (added.length === 0) return;
  report(deps, {
    decision: 'launch',
    reason: 'provisioned',
    text: wouldLaunch(claim),
    nodePools: [nodePool],
    namespaces: namespacesOf(pods),
    pods: pods.length,
    usdPerHour: billedUsdPerHour(claim),
  });
}

/** Reports a disruption command, once for its nodes. */
export function reportDisruption(deps: ReportDeps, command: Command): void {
  const { candidates, reason } = command;
  const nodeClaims = candidates.map(({ nodeClaim }) => nodeClaim.metadata.name);
  const key = [decisionOf(command), reason, ...nodeClaims.toSorted()].join(' ');
  if (!deps.cluster.observation.isNew(key)) return;
  const pods = candidates.flatMap(({ reschedulablePods: moving }) => moving.map(podKey));
  report(deps, {
    decision: decisionOf(command),
    reason: snakeCase(reason),
    text: wouldDisrupt(command),
    nodePools: [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))],
    nodeClaims: nodeClaims.slice(0, MOST_NAMES),
    nodeNames: candidates.slice(0, MOST_NAMES).map(({ name }) => name),
    namespaces: namespacesOf(pods),
    pods: pods.length,
    usdPerHour: -billedSavingsOf(command),
  });
}

/** Reports that a single NodeClaim would be deleted because it has expired, or repaired. */
export function reportDeletion(deps: ReportDeps, claim: NodeClaim, reason: 'expired' | 'unhealthy'): void {
  const { name } = claim.metadata;
  if (!deps.cluster.observation.isNew(`delete ${reason} ${name}`)) return;
  const node = claim.status?.nodeName;
  report(deps, {
    decision: reason === 'expired' ? 'delete' : 'replace',
    reason,
    text: `would ${reason === 'expired' ? 'delete' : 'repair'} ${node === undefined ? `NodeClaim ${name}` : `node ${node}`} (${reason})`,
    nodePools: [poolNameOf(claim)],
    nodeClaims: [name],
    ...(node !== undefined && { nodeNames: [node] }),
    pods: reschedulablePods(deps, claim),
    usdPerHour: 0,
  });
}

/** Reports that a static NodePool would get or lose nodes. Returns false if the NodePool is not observed. */
export function isObservedChange(deps: ReportDeps, nodePool: string, change: number): boolean {
  const { observation } = deps.cluster;
  if (observation.of(nodePool) === undefined) return false;
  const decision = change > 0 ? 'launch' : 'delete';
  if (!observation.isNew(`replicas ${nodePool} ${change}`)) return true;
  const text = `would ${decision} ${Math.abs(change)} of the nodes of static NodePool ${nodePool}`;
  report(deps, { decision, reason: 'replicas', text, nodePools: [nodePool], pods: 0, usdPerHour: 0 });
  return true;
}

function report({ clock, decisions, events, log, metrics }: ReportDeps, decided: Report): void {
  decisions?.record({ kind: 'observed', at: timestamp(clock.now()), ...decided });
  log.info('observed a decision that is not carried out', { decision: decided.text, nodepools: decided.nodePools });
  for (const nodePool of decided.nodePools) {
    metrics.counter(OBSERVED_DECISIONS).inc({ nodepool: nodePool, decision: decided.decision, reason: decided.reason });
    const about = { apiVersion: apiVersionOf(NODE_POOL), kind: NODE_POOL.kind, metadata: { name: nodePool } };
    events.publish(eventOf(WOULD_ACT, about, { message: WOULD_ACT.message(decided.text), dedupe: [decided.text] }));
  }
}
