/** Deduplication keys, windows and rate limits of events, which determine the events that users see. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DO_NOT_DISRUPT_ANNOTATION, INSTANCE_TYPE_LABEL, NODE_CLAIM, NODE_POOL, POD } from '#api/objects';
import type { EventNote } from '#kube/reconcilers';
import { World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

/**
 * `type kind: message [key] window rate`, in which values that identify the object are replaced by their field names.
 */
function shape({ type, object, message, dedupe, windowMs, limit }: EventNote): string {
  const names: Readonly<Record<string, string>> = {
    [object.metadata.uid ?? '']: 'uid',
    [object.metadata.name]: 'name',
  };
  const key = dedupe === undefined ? 'none' : `[${dedupe.map((part) => names[part] ?? part).join()}]`;
  const more = [windowMs === undefined ? '' : `${windowMs / 1_000}s`, limit ? `${limit.qps}/${limit.burst}` : ''];
  return `${type} ${object.kind}: ${message} ${[key, ...more].filter((part) => part !== '').join(' ')}`;
}

const told = (reason: string): readonly string[] => [
  ...new Set(world.events.filter((event) => event.reason === reason).map(shape)),
];

async function begin(spec: Parameters<World['nodePool']>[1] = {}): Promise<void> {
  world.nodePool('default', { disruption: { consolidateAfter: 'Never' }, ...spec });
  world.start();
  await world.pass(2);
}

describe('an event', () => {
  it('is published for a pending pod', async () => {
    await begin();
    world.pending(1);
    world.pending(1, '1000');
    await world.pass(5);
    expect(told('Nominated')).toEqual([
      `Normal Pod: Pod should schedule on: nodeclaim/${world.claims[0]?.metadata.name} [uid] 5/10`,
    ]);
    expect(told('FailedScheduling')).toEqual([
      expect.stringMatching(/^Warning Pod: Failed to schedule pod, .* \[uid\] 300s$/),
    ]);
  });

  it('is published for a pod with do-not-disrupt', async () => {
    await begin();
    world.pending(2);
    await world.pass(15);
    const [dated, odd] = world.pods;
    const startTime = new Date(world.clock.now()).toISOString();
    const annotate = (pod: typeof odd, value: string): void => {
      const annotations = { [DO_NOT_DISRUPT_ANNOTATION]: value };
      world.kube.patch(POD, pod?.metadata ?? { name: '' }, { metadata: { annotations } });
    };
    world.kube.patch(POD, dated?.metadata ?? { name: '' }, { status: { startTime } }, 'status');
    annotate(dated, '30s');
    annotate(odd, 'soon');
    await world.pass(60);
    const until = new Date(Date.parse(startTime) + 30_000)
      .toISOString()
      .replace('.000', '')
      .replace(/\.\d+Z/, 'Z');
    expect(told('DoNotDisruptUntil')).toEqual([
      `Normal Pod: The karpenter.sh/do-not-disrupt grace period will elapse at ${until} [uid,${until}]`,
    ]);
    expect(told('DoNotDisruptGracePeriodElapsed')).toEqual([
      'Normal Pod: The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now disruptable [uid]',
    ]);
    expect(told('InvalidDoNotDisruptAnnotation')).toEqual([
      expect.stringMatching(
        /^Warning Pod: Invalid karpenter.sh\/do-not-disrupt annotation: (.+), ignoring annotation \[uid,\1\]$/,
      ),
    ]);
  });

  it('is published for a NodePool without usable instance types', async () => {
    const { template } = world.nodePool('model').spec;
    world.kube.delete(NODE_POOL, { name: 'model' });
    const requirements = [{ key: INSTANCE_TYPE_LABEL, operator: 'In' as const, values: ['gone'] }];
    await begin({ template: { spec: { ...template.spec, requirements } } });
    world.pending(1);
    await world.pass(5);
    expect(told('NoCompatibleInstanceTypes')).toEqual([
      'Warning NodePool: NodePool requirements filtered out all compatible available instance types [uid] 60s',
    ]);
  });

  it('is published for a claim that registers without its taint and terminates within its grace period', async () => {
    const { template } = world.nodePool('model').spec;
    world.kube.delete(NODE_POOL, { name: 'model' });
    world.joining = false;
    await begin({ template: { spec: { ...template.spec, terminationGracePeriod: '10m' } } });
    world.pending(1);
    await world.pass(5);
    for (const [providerID, { created }] of world.cloud.instances)
      world.join(providerID, created, { spec: { providerID } });
    await world.pass(3);
    expect(told('UnregisteredTaintMissing')).toEqual([
      'Warning NodeClaim: Missing karpenter.sh/unregistered taint which prevents registration related race conditions on ' +
        'Karpenter-managed nodes [uid]',
    ]);
    const deletedMs = world.clock.now();
    world.kube.delete(NODE_CLAIM, world.claims[0]?.metadata ?? { name: '' });
    await world.pass(3);
    const deadline = new Date(Math.floor(deletedMs / 1_000) * 1_000 + 600_000).toISOString().replace('.000', '');
    expect(told('TerminationGracePeriodExpiring')).toEqual([
      `Warning NodeClaim: All pods will be deleted by ${deadline} [name]`,
      `Warning Node: All pods will be deleted by ${deadline} [name]`,
    ]);
  });

  it('is published for each transition of a condition', async () => {
    await begin();
    world.pending(1);
    await world.pass(15);
    const [claim] = world.claims;
    expect(world.events.filter(({ object }) => object.metadata.uid === claim?.metadata.uid).map(shape)).toEqual(
      expect.arrayContaining([
        'Normal NodeClaim: Status condition transitioned, Type: Registered, Status: Unknown -> True, Reason: Registered none',
        'Normal NodeClaim: Status condition transitioned, Type: Ready, Status: Unknown -> True, Reason: Ready none',
      ]),
    );
  });
});
