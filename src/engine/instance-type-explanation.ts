/** Explains how many resources a new node of an instance type has for pods, line by line. */
import type { NodePool } from '#api/objects';
import { defined, own } from '#lib';
import { sumsOf, type Terms, type TypeTerms } from './capacity-terms.ts';
import { allocatable, requirementsOf } from './instance-types.ts';
import { LeftOuts } from './left-out.ts';
import type { EngineSnapshot, InstanceType, InstanceTypeOverhead, Resources } from './model.ts';
import { templateRequirements } from './node-template.ts';
import { daemonSetOf } from './pods.ts';
import { LOOSE } from './requirements.ts';
import { addResources, amountIn, quantityOf } from './resources.ts';
import { type Daemon, daemonsByType, daemonsOf } from './solver/daemons.ts';
import { slotResource, slotsAsResources } from './volume-limits.ts';
import { withReportedLimits } from './volume-slots.ts';
import { Volumes } from './volumes.ts';

/** Part of the computation. Each part starts with the sum of the earlier parts. */
export type ExplainedStep = 'capacity' | 'reserved' | 'daemonsets';

interface ExplainedLine {
  readonly step: ExplainedStep;
  readonly text: string;
  /** Quantity. It is negative if it is subtracted. */
  readonly amount: string;
}

export interface ExplainedResource {
  readonly resource: string;
  readonly lines: readonly ExplainedLine[];
  readonly capacity: string;
  readonly allocatable: string;
  /** Allocatable amount without the requests of DaemonSets. */
  readonly forPods: string;
}

/** Explanation for the nodes of one NodePool. This format is public. */
export interface InstanceTypeExplanation {
  readonly instanceType: string;
  readonly nodePool: string;
  readonly nodeClass: string;
  /** Reason why the NodePool launches no such nodes. */
  readonly excluded?: string;
  readonly resources: readonly ExplainedResource[];
  /** Unknown facts that affect the amounts. Undefined if there are none. */
  readonly unknown?: readonly string[];
}

interface ExplanationOptions {
  /** Returns the computation of the type before NodeOverlays, if it is known. */
  readonly termsOf: (nodePool: NodePool, instanceType: string) => TypeTerms | undefined;
  readonly ignoresDevices: boolean;
}

/** Returns an explanation for each NodePool whose NodeClass has the instance type. */
export function explainInstanceType(
  name: string,
  snapshot: EngineSnapshot,
  { termsOf, ignoresDevices }: ExplanationOptions,
): readonly InstanceTypeExplanation[] {
  const volumes = new Volumes(snapshot);
  const leftOuts = new LeftOuts();
  const daemons = daemonsOf(snapshot.daemonPods, { ignoreDevices: ignoresDevices, leftOuts, volumes });
  return withReportedLimits(snapshot.pools, snapshot.nodes).flatMap(({ nodePool, instanceTypes }) => {
    const type = instanceTypes.find((each) => each.name === name);
    if (type === undefined) return [];
    const { taints = [], nodeClassRef } = nodePool.spec.template.spec;
    const requirements = templateRequirements(nodePool);
    const explained: InstanceTypeExplanation = {
      instanceType: name,
      nodePool: nodePool.metadata.name,
      nodeClass: nodeClassRef.name,
      ...defined({ excluded: requirements.incompatibility(requirementsOf(type), LOOSE)?.text }),
      resources: resourcesOf(type, {
        terms: termsOf(nodePool, name),
        daemons: daemonsByType(daemons, { taints, requirements })(type),
      }),
    };
    return [explained];
  });
}

interface Parts {
  readonly terms: TypeTerms | undefined;
  readonly daemons: readonly Daemon[];
}

/** Line before its amount is formatted. */
interface Line extends Omit<ExplainedLine, 'amount'> {
  readonly amount: number;
}

function resourcesOf(type: InstanceType, { terms, daemons }: Parts): readonly ExplainedResource[] {
  const slots = slotsAsResources(type.volumeLimits ?? {});
  const capacity = { ...type.capacity, ...slots };
  const free = { ...allocatable(type), ...slots };
  const used = daemons.map(({ pod, requests, slots: ownSlots }) => ({
    text: `DaemonSet ${pod.metadata.namespace ?? 'default'}/${daemonSetOf(pod.metadata)}`,
    requests: addResources(requests, ownSlots),
  }));
  const predicted: Terms = { ...terms?.capacity, ...termsOfSlots(terms?.volumeLimits ?? {}) };
  return Object.keys(capacity).flatMap((resource) => {
    const lines = [
      ...capacityLines(resource, predicted, capacity),
      ...reservedLines(resource, { type, terms, capacity, free }),
      ...used.map(({ text, requests }): Line => ({ step: 'daemonsets', text, amount: -amountIn(requests, resource) })),
    ].filter(({ amount }) => amount !== 0);
    if (lines.length === 0) return [];
    const ofDaemons = addResources(...used.map(({ requests }) => requests));
    return [
      {
        resource,
        lines: lines.map((line) => ({ ...line, amount: quantityOf(resource, line.amount) })),
        capacity: quantityOf(resource, amountIn(capacity, resource)),
        allocatable: quantityOf(resource, amountIn(free, resource)),
        forPods: quantityOf(resource, amountIn(free, resource) - amountIn(ofDaemons, resource)),
      },
    ];
  });
}

const termsOfSlots = (limits: Terms): Terms =>
  Object.fromEntries(Object.entries(limits).map(([driver, terms]) => [slotResource(driver), terms]));

/** The last line is the difference between the computation of the provider and the capacity that solves use. */
function capacityLines(resource: string, predicted: Terms, capacity: Resources): readonly Line[] {
  const terms = own(predicted, resource) ?? [];
  const difference = amountIn(capacity, resource) - amountIn(sumsOf(predicted), resource);
  return [...terms, { text: differenceText(resource, terms.length > 0), amount: difference }].map(
    ({ text, amount }): Line => ({ step: 'capacity', text, amount }),
  );
}

function differenceText(resource: string, isPredicted: boolean): string {
  if (resource.startsWith(slotResource('')) && isPredicted) return 'limit that CSINodes of such nodes report';
  return isPredicted ? 'change by NodeOverlays' : 'amount in the list of instance types, or of NodeOverlays';
}

const RESERVATIONS: Readonly<Record<keyof InstanceTypeOverhead, string>> = {
  kubeReserved: 'kube-reserved',
  systemReserved: 'system-reserved',
  evictionThreshold: 'eviction threshold',
};

interface Reservation {
  readonly type: InstanceType;
  readonly terms: TypeTerms | undefined;
  readonly capacity: Resources;
  readonly free: Resources;
}

function reservedLines(resource: string, { type, terms, capacity, free }: Reservation): readonly Line[] {
  const lines = (Object.keys(RESERVATIONS) as (keyof InstanceTypeOverhead)[]).map((part): Line => {
    const reasons = (own(terms?.overhead[part] ?? {}, resource) ?? []).map(({ text }) => `, ${text}`);
    const text = `${RESERVATIONS[part]}${reasons.join('')}`;
    return { step: 'reserved', text, amount: -amountIn(type.overhead[part], resource) };
  });
  const reserved = lines.reduce((sum, { amount }) => sum + amount, 0);
  const rest = amountIn(free, resource) - amountIn(capacity, resource) - reserved;
  return [...lines, { step: 'reserved', text: 'huge pages', amount: rest }];
}
