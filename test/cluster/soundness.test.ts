/**
 * Checks plans against kube-scheduler: kube-scheduler binds every pod of a plan, without a second plan.
 *
 * ```sh
 * SOUNDNESS_CLUSTERS=300 npm run test:cluster -- soundness
 * SOUNDNESS_SEED=42 SOUNDNESS_CLUSTERS=1 npm run test:cluster -- soundness
 * ```
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { type Binding, SoundnessTrial } from './soundness/binding.ts';
import { soundnessCluster, spreadsCountDaemons } from './soundness/cluster.ts';

const FIRST_SEED = Number(process.env.SOUNDNESS_SEED ?? 1);
const CLUSTERS = Number(process.env.SOUNDNESS_CLUSTERS ?? 60);

const textOf = ({ seed, unbound, elsewhere }: Binding): string =>
  `SOUNDNESS_SEED=${seed} SOUNDNESS_CLUSTERS=1:\n  ${[...unbound, ...elsewhere].join('\n  ')}`;

describe(`the plans of ${CLUSTERS} clusters from seed ${FIRST_SEED}`, () => {
  let plane: ControlPlane;
  /** Clusters in which kube-scheduler left pods unbound, but accepts every pod on its planned node. */
  const otherChoices: Binding[] = [];
  /** Clusters in which kube-scheduler refused a pod on its planned node. */
  const refused: Binding[] = [];
  let planned = 0;

  beforeAll(async () => {
    plane = await startControlPlane({
      controllers: 'scheduler',
      // No controller removes the finalizers of volumes.
      apiServerFlags: ['--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection'],
    });
    const trial = new SoundnessTrial(plane.client);
    for (let seed = FIRST_SEED; seed < FIRST_SEED + CLUSTERS; seed += 1) {
      const free = await trial.run(seed, { steered: false });
      planned += free.planned;
      if (free.unbound.length === 0) continue;
      const steered = await trial.run(seed, { steered: true });
      if (steered.unbound.length > 0) refused.push(steered);
      else otherChoices.push(free);
    }
  }, 1_800_000);
  afterAll(() => plane?.stop(), 60_000);

  it('place pods', () => {
    expect(planned).toBeGreaterThan(CLUSTERS);
  });

  it('have only placements that kube-scheduler accepts, unless a spread counts the pods of a DaemonSet', () => {
    const unexplained = refused.filter(({ seed }) => !spreadsCountDaemons(soundnessCluster(seed).snapshot));
    expect(unexplained.map(textOf)).toEqual([]);
  });

  it('are bound, unless kube-scheduler uses the room of one pod for another', () => {
    const unexplained = otherChoices.filter(({ elsewhere }) => elsewhere.length === 0);
    expect(unexplained.map(textOf)).toEqual([]);
  });
});
