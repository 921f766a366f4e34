/** Random faults and actions during hours of cluster life: in instances, in AWS, in the API server, and by users. */

import { EC2_NODE_CLASS, type KubeObject, NODE, NODE_CLAIM, NODE_OVERLAY, NODE_POOL, POD } from '#api/objects';
import { failRequests } from '../support/api-server-faults.ts';
import type { CrashableOperator } from './crashable-operator.ts';
import type { Scenario } from './harness.ts';
import { type PoolShape, pool } from './pools.ts';
import type { Dice } from './random.ts';

const MINUTE = 60_000;
/** Maximum number of starts until an operator keeps running. Each fault ends by itself after fewer requests. */
const MOST_STARTS = 30;
const ACTIONS = [
  'CreateFleet',
  'CreateLaunchTemplate',
  'CreateTags',
  'DeleteMessage',
  'DescribeImages',
  'DescribeInstances',
  'DescribeInstanceTypeOfferings',
  'DescribeInstanceTypes',
  'DescribeLaunchTemplates',
  'DescribeSecurityGroups',
  'DescribeSpotPriceHistory',
  'DescribeSubnets',
  'GetInstanceProfile',
  'GetParameter',
  'ReceiveMessage',
  'TerminateInstances',
  '*',
] as const;
const AWS_ERRORS = ['InternalError', 'RequestLimitExceeded', 'Unavailable', 'UnauthorizedOperation'] as const;
const DO_NOT_DISRUPT = 'karpenter.sh/do-not-disrupt';
const STUCK = 'example.com/stuck';

/** Each function applies one fault or action and returns a description of it. */
export type Troubles = Readonly<Record<string, () => string | Promise<string>>>;

export interface Life {
  readonly scenario: () => Scenario;
  readonly operator: () => CrashableOperator;
  readonly roll: Dice;
  /** Lets time pass for the operator and the world, at the speed of the soak test. */
  readonly pass: (ms: number) => Promise<void>;
  readonly shapes: Readonly<Record<string, PoolShape>>;
  readonly apps: readonly string[];
}

/**
 * Runs an action and tolerates API errors, because nodes may be gone, names taken, or requests refused by earlier
 * faults.
 */
async function tried(what: string, work: () => unknown): Promise<string> {
  try {
    await work();
    return what;
  } catch (error) {
    return `${what} failed, ${String(error).slice(0, 100)}`;
  }
}

export function machineTroubles({ scenario, roll }: Life): Troubles {
  const silent = new Set<string>();
  const faults = () => scenario().world.aws.faults;
  const instanceId = (): string | undefined => {
    const all = scenario().instances();
    return all.length === 0 ? undefined : roll.pick(all).id;
  };
  /** Stops or resumes a kubelet. Reports whether its instance still exists. */
  function speak(node: string, speaks: boolean): boolean {
    const { kubelets } = scenario().world;
    silent.delete(node);
    try {
      if (speaks) kubelets.resume(node);
      else kubelets.hang(node);
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
    if (!speaks) silent.add(node);
    return true;
  }
  return {
    interrupt() {
      const spot = scenario()
        .instances()
        .filter(({ capacityType }) => capacityType === 'spot');
      if (spot.length === 0) return 'nothing to interrupt';
      const { id } = roll.pick(spot);
      faults().interrupt(id);
      return `interrupt ${id}`;
    },
    brokenBoot() {
      faults().add({ kind: 'never-joins', times: 1 });
      return 'an instance will not join';
    },
    slowBoot() {
      const minutes = roll.upTo(10);
      faults().add({ kind: 'slow-boot', ms: minutes * MINUTE, times: 1 });
      return `an instance will take ${minutes} min to boot`;
    },
    terminate() {
      const id = instanceId();
      if (id === undefined) return 'nothing to terminate';
      faults().terminate(id);
      return `terminate ${id}`;
    },
    outage() {
      const id = instanceId();
      if (id === undefined) return 'nothing to break';
      const what = roll.pick(['scheduleChange', 'stop', 'impair', 'recommendRebalance'] as const);
      return tried(`${what} of ${id}`, () => faults()[what](id));
    },
    async hang() {
      const joined = (await scenario().nodes()).map(({ metadata }) => metadata.name);
      if (joined.length === 0 || silent.size > 0) return 'no more silence';
      const name = roll.pick(joined);
      return speak(name, false) ? `silence ${name}` : `${name} is gone`;
    },
    resume() {
      for (const name of silent) speak(name, true);
      return 'all kubelets speak';
    },
  };
}

export function awsTroubles({ scenario, roll }: Life): Troubles {
  const faults = () => scenario().world.aws.faults;
  return {
    shortage() {
      faults().clear();
      const [instanceType, zone] = [roll.pick(['c*', 'm*', 'r*', '*.large']), roll.pick(['*a', '*b', '*'])];
      faults().add({ kind: 'capacity', instanceType, zone });
      return `shortage of ${instanceType} in ${zone}`;
    },
    throttle() {
      faults().add({ kind: 'throttle', rate: 0.2, times: 5 });
      return 'throttle';
    },
    plenty() {
      faults().clear();
      return 'capacity is back';
    },
    answers() {
      const [kind, action] = [roll.pick(['error', 'malformed', 'reset', 'throttle'] as const), roll.pick(ACTIONS)];
      const times = roll.upTo(5) + 1;
      if (kind === 'error') faults().add({ kind, action, code: roll.pick(AWS_ERRORS), times });
      else faults().add({ kind, action, times });
      return `${kind} for ${times} ${action}`;
    },
    connections() {
      faults().add({ kind: 'reset', lost: roll.pick(['request', 'answer'] as const), rate: 0.2, times: 10 });
      return 'connections to AWS break';
    },
    credentials() {
      faults().add({ kind: 'expired-credentials', times: roll.upTo(10) + 1 });
      return 'credentials expire';
    },
    latency() {
      faults().add({ kind: 'latency', ms: 8_000, times: 10 });
      return 'AWS is slow';
    },
    lag() {
      const kind = roll.pick(['invisible', 'late-tags'] as const);
      faults().add({ kind, ms: 20_000, times: 2 });
      return `new instances are ${kind}`;
    },
  };
}

export function kubeTroubles({ scenario, operator, roll, pass }: Life): Troubles & { readonly serve: () => string } {
  let mend = (): void => undefined;
  return {
    watches() {
      const { server } = scenario().world.kube;
      server.expireHistory();
      server.dropWatches();
      return 'watches drop';
    },
    requests() {
      mend();
      const status = roll.pick([409, 429, 500, 503, 504]);
      const wanted = roll.pick(['DELETE', 'GET', 'PATCH', 'POST', 'PUT', '']);
      let left = 30;
      // scaling requests of the world are users' requests, which users would retry
      const match = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
        left > 0 && !path.includes('/deployments') && method.startsWith(wanted) && roll.upTo(4) === 0 && left-- > 0;
      mend = failRequests(scenario().world.kube.server, { status, match });
      return `${status} for 30 requests ${wanted}`;
    },
    serve() {
      mend();
      return 'the API server serves';
    },
    async kill() {
      await operator().kill();
      await pass(roll.upTo(120) * 1_000);
      // an operator that fails at its start exits, and is restarted as by a kubelet
      for (let starts = 1; ; starts += 1) {
        try {
          await operator().start();
          return `kill the operator, ${starts} start(s)`;
        } catch (error) {
          if (starts === MOST_STARTS) throw error;
          await pass(10_000);
        }
      }
    },
  };
}

export function userTroubles({ scenario, roll, shapes, apps }: Life): Troubles {
  const patch = (what: string, kind: typeof NODE, name: string, body: unknown): Promise<string> =>
    tried(what, () => scenario().kube.patch(kind, { name }, body));
  const aNode = async (): Promise<string> => roll.pick((await scenario().nodes()).map(({ metadata }) => metadata.name));
  const aClaim = async () => roll.pick((await scenario().claims()).map(({ metadata }) => metadata));
  const aPod = async () => roll.pick((await scenario().pods()).map(({ metadata }) => metadata));
  const aShape = (): PoolShape => roll.pick(Object.values(shapes));
  return {
    async edit() {
      const shape = aShape();
      await scenario().apply(pool({ ...shape, labels: { tier: `t${roll.upTo(1_000)}` } }));
      return `edit ${shape.name}`;
    },
    async limits() {
      const shape = aShape();
      const limited = pool(shape) as KubeObject & { spec: Record<string, unknown> };
      limited.spec.limits = { cpu: String(roll.upTo(30)) };
      return tried(`limit ${shape.name}`, () => scenario().apply(limited));
    },
    async closed() {
      const shape = aShape();
      return tried(`close ${shape.name}`, () => scenario().apply(pool({ ...shape, budgets: [{ nodes: '0' }] })));
    },
    async dropPool() {
      const { name = '' } = aShape();
      return tried(`delete NodePool ${name}`, () => scenario().kube.delete(NODE_POOL, { name }));
    },
    async nodeClass() {
      const [object] = scenario().example('ec2nodeclass.yaml') as [KubeObject & { spec: Record<string, unknown> }];
      const userData = roll.upTo(1) === 0 ? {} : { userData: `#!/bin/bash\necho ${roll.upTo(3)}` };
      const edited = { ...object, spec: { ...object.spec, ...userData, tags: { round: `r${roll.upTo(3)}` } } };
      return tried(`edit ${EC2_NODE_CLASS.kind}`, () => scenario().apply(edited));
    },
    async overlay() {
      const overlay = {
        apiVersion: 'karpenter.sh/v1alpha1',
        kind: NODE_OVERLAY.kind,
        metadata: { name: `overlay-${roll.upTo(2)}` },
        spec: {
          weight: roll.upTo(3) + 1,
          requirements: [
            {
              key: 'karpenter.k8s.aws/instance-family',
              operator: 'In',
              values: [roll.pick(['c5', 'm5', 'm6i'])],
            },
          ],
          priceAdjustment: roll.pick(['-20%', '+30%', '-0.05']),
        },
      };
      return tried(`overlay ${overlay.metadata.name}`, () => scenario().apply(overlay as KubeObject));
    },
    async deleteClaim() {
      const metadata = await aClaim();
      return tried(`delete NodeClaim ${metadata.name}`, () => scenario().kube.delete(NODE_CLAIM, metadata));
    },
    async deleteNode() {
      const name = await aNode();
      return tried(`delete Node ${name}`, () => scenario().kube.delete(NODE, { name }));
    },
    async cordon() {
      const [name, unschedulable] = [await aNode(), roll.upTo(1) === 1];
      return patch(`unschedulable ${unschedulable} for ${name}`, NODE, name, { spec: { unschedulable } });
    },
    async freeNode() {
      const name = await aNode();
      return patch(`take the finalizers of Node ${name}`, NODE, name, { metadata: { finalizers: null } });
    },
    async freeClaim() {
      const metadata = await aClaim();
      return tried(`take the finalizers of NodeClaim ${metadata.name}`, () =>
        scenario().kube.patch(NODE_CLAIM, metadata, { metadata: { finalizers: null } }),
      );
    },
    async deletePods() {
      const app = roll.pick(apps);
      for (const { metadata } of await scenario().pods(app))
        await tried('', () => scenario().kube.delete(POD, metadata));
      return `delete all pods of ${app}`;
    },
    async protect() {
      const [metadata, value] = [await aPod(), roll.pick(['true', '5m', 'junk'])];
      return tried(`do not disrupt ${metadata.name}: ${value}`, () =>
        scenario().kube.patch(POD, metadata, { metadata: { annotations: { [DO_NOT_DISRUPT]: value } } }),
      );
    },
    async stickPod() {
      const metadata = await aPod();
      return tried(`finalizer on ${metadata.name}`, () =>
        scenario().kube.patch(POD, metadata, { metadata: { finalizers: [STUCK] } }),
      );
    },
  };
}

/** Reverts the users' actions, except for edits that are equivalent in the end. */
export async function calm({ scenario, shapes }: Life): Promise<void> {
  const { kube, world } = scenario();
  for (const { metadata, spec } of (await kube.list(NODE)).items)
    if (spec?.unschedulable) await tried('', () => kube.patch(NODE, metadata, { spec: { unschedulable: false } }));
  for (const { metadata } of (await kube.list(POD)).items) {
    if (metadata.finalizers?.includes(STUCK))
      await tried('', () => kube.patch(POD, metadata, { metadata: { finalizers: null } }));
    if (metadata.annotations?.[DO_NOT_DISRUPT] !== undefined) await tried('', () => kube.delete(POD, metadata));
  }
  for (const { id } of scenario().instances()) await tried('', () => world.aws.faults.recover(id));
  await scenario().apply(...Object.values(shapes).map(pool));
}
