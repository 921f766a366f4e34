/** Plays inputs: creates their objects, waits until each is handled, and removes them. */
import {
  type CapacityBuffer,
  type Condition,
  EVENT,
  getCondition,
  type KubeObject,
  NODE_CLAIM,
  type NodeClaim,
  POD,
  type Pod,
} from '#api/objects';
import type { KubeApi } from '../support/kube-api.ts';
import type { HostileWorld } from './hostile-world.ts';
import { KINDS, kindOf, removeOne } from './objects-away.ts';
import { type Group, groupsOf, playTogether } from './together.ts';

/** Objects of one input. */
export interface ObjectsInput {
  readonly name: string;
  readonly objects: readonly KubeObject[];
  /** Kinds whose objects must either be used or be reported as invalid. */
  readonly explained: readonly string[];
}

/** Limit on the world's clock. */
const EXPLAINED_MS = 60_000;
const GONE_MS = 120_000;
const AT_ONCE = 50;

/** @throws Error if the operator fails because of the input, or does not report the problem */
export const play = (hostile: HostileWorld, input: ObjectsInput): Promise<void> => playObjects(hostile, [input]);

/** Plays inputs whose objects exist at the same time. @throws Error like `play` */
export const playObjects = (hostile: HostileWorld, inputs: readonly ObjectsInput[]): Promise<void> =>
  playTogether(hostile, inputs, async (together) => {
    const objects = together.flatMap((input) => input.objects);
    hostile.mark();
    for (let from = 0; from < objects.length; from += AT_ONCE)
      await Promise.all(
        objects.slice(from, from + AT_ONCE).map((object) => hostile.kube.create(kindOf(object), object)),
      );
    for (const { objects: own, explained } of together)
      for (const object of own.filter(({ kind }) => explained.includes(kind)))
        await hostile.until(
          `word about ${object.kind} ${JSON.stringify(object).slice(0, 1_000)}`,
          () => isExplained(hostile, object),
          EXPLAINED_MS,
        );
    // checks this after the input has taken effect
    await hostile.expectHealthy();
    await remove(hostile, objects);
  });

/** Number of small inputs whose objects exist at the same time. */
const TOGETHER = 5;
/** Limit for the objects of a small input, in characters of JSON. */
const SMALL = 10_000;

/** Returns groups of small inputs. Large inputs are alone, so that the limits of time and memory apply to each. */
export function groupsBySize(inputs: readonly ObjectsInput[]): readonly Group<ObjectsInput>[] {
  const isSmall = ({ objects }: ObjectsInput): boolean => JSON.stringify(objects).length < SMALL;
  return [
    ...groupsOf(inputs.filter(isSmall), TOGETHER),
    ...groupsOf(
      inputs.filter((input) => !isSmall(input)),
      1,
    ),
  ];
}

/** Reports whether the object is in use, or a condition, an event or a log line contains the reason. */
async function isExplained(hostile: HostileWorld, object: KubeObject): Promise<boolean> {
  const { name, namespace } = object.metadata;
  if (isOfOthers(object)) return true;
  const present = await hostile.kube.find(kindOf(object), { name, namespace });
  if (present !== undefined && (isInUse(present) || wrongOf(present) !== undefined)) return true;
  if (hostile.since().some((line) => line.level === 'ERROR' && JSON.stringify(line).includes(name))) return true;
  return hostile
    .eventsOf(object)
    .some(({ source, reportingComponent }) => [source?.component, reportingComponent].includes('karpenter'));
}

/** Reports whether another provider or another provisioning strategy is responsible for the object. */
function isOfOthers(object: KubeObject): boolean {
  if (object.kind === 'CapacityBuffer') {
    const { provisioningStrategy = ACTIVE } = (object as CapacityBuffer).spec;
    return provisioningStrategy !== ACTIVE;
  }
  if (object.kind !== 'NodeClaim') return false;
  const { group, kind } = (object as NodeClaim).spec.nodeClassRef;
  return group !== 'karpenter.k8s.aws' || kind !== 'EC2NodeClass';
}

const ACTIVE = 'buffer.x-k8s.io/active-capacity';

const isInUse = (object: KubeObject): boolean =>
  object.kind === 'Pod'
    ? (object as Pod).spec.nodeName !== undefined
    : ['Ready', 'Initialized', 'ReadyForProvisioning', 'Provisioning'].some(
        (type) => getCondition(object, type)?.status === 'True',
      );

/** Returns a condition that reports a problem of the object. */
function wrongOf(object: KubeObject): Condition | undefined {
  if (object.kind === 'Pod' || object.kind === 'Node') return undefined;
  const { conditions = [] } = (object as { status?: { conditions?: readonly Condition[] } }).status ?? {};
  return conditions.find(
    ({ status, message, reason }) => status !== 'True' && message && reason !== 'AwaitingReconciliation',
  );
}

async function remove(hostile: HostileWorld, objects: readonly KubeObject[]): Promise<void> {
  const { kube } = hostile;
  for (const kind of KINDS) {
    const ours = objects.filter((object) => object.kind === kind.kind);
    if (ours.length > 0) await Promise.all(ours.map((object) => removeOne(kube, kind, object)));
    // launched NodeClaims are deleted with their NodePool; others were created manually
    if (kind === POD) await removeClaims(kube, objects);
  }
  await hostile.until('end of the input', async () => (await remaining(kube, objects)).length === 0, GONE_MS);
}

async function remaining(kube: KubeApi, objects: readonly KubeObject[]): Promise<readonly string[]> {
  const left: string[] = [];
  for (const kind of new Set(objects.map(kindOf))) {
    if (kind === EVENT) continue;
    const present = new Set((await kube.list(kind)).items.map(({ metadata }) => metadata.name));
    for (const { kind: name, metadata } of objects)
      if (name === kind.kind && present.has(metadata.name)) left.push(metadata.name);
  }
  return left;
}

const ofHealthyPool = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.['karpenter.sh/nodepool'] === 'healthy' && metadata.name.startsWith('healthy-');

async function removeClaims(kube: KubeApi, objects: readonly KubeObject[]): Promise<void> {
  if (!objects.some(({ kind }) => kind === 'NodePool' || kind === 'NodeClaim' || kind === 'Pod')) return;
  const { items } = await kube.list(NODE_CLAIM);
  await Promise.all(items.filter((claim) => !ofHealthyPool(claim)).map((claim) => removeOne(kube, NODE_CLAIM, claim)));
}
