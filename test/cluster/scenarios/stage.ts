/**
 * A real control plane for the scenarios of `test/operator`: kube-scheduler binds, real controllers create pods, real
 * disruption budgets block evictions, and RBAC grants the operator the chart's permissions. Time is real.
 */
import { readFile } from 'node:fs/promises';
import { realClock } from '#lib/clock';
import type { Certificate } from '../../operator/cuttable-proxy.ts';
import type { ScenarioOptions, ScenarioWorld, Stage } from '../../operator/harness.ts';
import { type JoinedCluster, joinCluster } from '../../support/join-cluster.ts';
import type { PacedClock } from '../../support/paced-clock.ts';
import { CLUSTER_NAME, QUICK, VALUES, type Values } from '../harness/cluster.ts';
import { leaveInstallation, shareInstallation } from '../harness/shared.ts';

/** A scenario with longer waits belongs in `leftout.ts`. */
const LONGEST_PASS_MS = 90_000;
/** Long enough to see that nothing happens: two disruption runs with validation. */
const ENOUGH_MS = 30_000;

/** For the permissions of all settings and feature gates that the tests use. */
const SCENARIO_VALUES: Values = {
  ...VALUES,
  settings: {
    ...(VALUES.settings as Values),
    enableDRA: true,
    podDeletionCost: true,
    podNomination: true,
    podSurge: true,
    drainConditions: true,
    featureGates: { capacityQuota: true, provisioningRequest: true },
  },
};

export const realStage: Stage = {
  // Instances run in real time, while the clock would run 25 times as fast.
  patience: 4,
  // Each list costs a real API server ten milliseconds of CPU time.
  pollMs: 250,
  async open(options) {
    const installation = await shareInstallation(SCENARIO_VALUES);
    const { plane, kubeconfig } = installation;
    const world = await joinCluster({ url: plane.url, credentials: plane.credentials, kubeconfig }, given(options));
    const certificate = {
      key: await readFile(plane.certificateKey, 'utf8'),
      cert: await readFile(plane.certificateAuthority, 'utf8'),
    };
    const stop = async (): Promise<void> => {
      await world.stop();
      await leaveInstallation(installation);
    };
    return { world: { ...onStage(world, certificate), stop }, clock: stageClock() };
  },
};

/**
 * Applies the scenario's options except for time: instances act immediately instead of within a minute of a fast clock.
 */
const given = ({ aws, systemNodes, log }: ScenarioOptions): Parameters<typeof joinCluster>[1] => ({
  clusterName: CLUSTER_NAME,
  ...QUICK,
  ...(aws ? { aws } : {}),
  ...(systemNodes === undefined ? {} : { systemNodes }),
  ...(log ? { log } : {}),
});

const onStage = (world: JoinedCluster, certificate: Certificate): ScenarioWorld => ({
  ...world,
  kube: {
    ...world.kube,
    certificate,
    get server(): never {
      throw new Error(
        'Cannot make a real API server fail on demand: name the test in test/cluster/scenarios/leftout.ts',
      );
    },
  },
});

/** A clock in real time until it is stopped. */
function stageClock(): PacedClock {
  const clock = realClock();
  const timers = new Set<() => void>();
  return {
    now: clock.now,
    after(ms, fire) {
      const cancel = clock.after(ms, () => {
        timers.delete(cancel);
        fire();
      });
      timers.add(cancel);
      return () => {
        timers.delete(cancel);
        cancel();
      };
    },
    sleep(ms, signal) {
      // Waits of the scenario have no signal.
      if (signal !== undefined) return clock.sleep(ms, signal);
      if (ms <= LONGEST_PASS_MS) return clock.sleep(Math.min(ms, ENOUGH_MS));
      throw new RangeError(`Cannot let ${ms / 1_000} s pass: name the test in test/cluster/scenarios/leftout.ts`);
    },
    speed: () => 1,
    calmMs: () => performance.now(),
    stop() {
      for (const cancel of timers) cancel();
    },
  };
}
