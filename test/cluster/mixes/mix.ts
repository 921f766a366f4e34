/** Random deployments with scheduling constraints that kube-scheduler and the engine both support. */
import type { KubeObject } from '#api/objects';
import { deployment } from '../../operator/harness.ts';
import type { Dice } from '../../operator/random.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const CAPACITY_TYPE = 'karpenter.sh/capacity-type';
const ARCH = 'kubernetes.io/arch';
const ZONES = [['us-west-2a'], ['us-west-2b'], ['us-west-2a', 'us-west-2c']];

type Fragment = Readonly<Record<string, unknown>>;

interface Draw {
  readonly roll: Dice;
  readonly name: string;
  /** Names of the existing deployments and this one. */
  readonly names: readonly string[];
}

/** Returns true once in `count` draws on average. */
const once = (roll: Dice, count: number): boolean => roll.upTo(count - 1) === 0;

const required = (terms: unknown): Fragment => ({ requiredDuringSchedulingIgnoredDuringExecution: terms });
const near = ({ roll, names }: Draw, keys: readonly string[]): Fragment =>
  required([{ labelSelector: { matchLabels: { app: roll.pick(names) } }, topologyKey: roll.pick(keys) }]);

/**
 * Constraints of pods with their frequencies. Excludes `nodeAffinityPolicy: Ignore`, for which Karpenter uses the
 * minimum of the domains that the pod allows, but kube-scheduler the minimum of all domains.
 */
const WISHES: readonly (readonly [oneIn: number, (draw: Draw) => Fragment])[] = [
  [
    3,
    ({ roll, name }) => ({
      topologySpreadConstraints: [
        {
          maxSkew: 1 + roll.upTo(2),
          topologyKey: roll.pick([ZONE, HOST, CAPACITY_TYPE, ARCH]),
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: name } },
          ...(once(roll, 4) ? { minDomains: 2 } : {}),
          ...(once(roll, 4) ? { matchLabelKeys: ['pod-template-hash'] } : {}),
        },
      ],
    }),
  ],
  [6, (draw) => ({ affinity: { podAntiAffinity: near(draw, [HOST, HOST, ZONE]) } })],
  [6, (draw) => ({ affinity: { podAffinity: near(draw, [HOST, ZONE]) } })],
  [
    6,
    ({ roll }) => {
      const expression = { key: ZONE, operator: roll.pick(['In', 'NotIn']), values: roll.pick(ZONES) };
      return { affinity: { nodeAffinity: required({ nodeSelectorTerms: [{ matchExpressions: [expression] }] }) } };
    },
  ],
  [6, ({ roll }) => ({ nodeSelector: { [CAPACITY_TYPE]: roll.pick(['spot', 'on-demand']) } })],
  [
    8,
    ({ roll }) => {
      const ports = [{ containerPort: 80, hostPort: 8_000 + roll.upTo(1) }];
      return { containers: [{ name: 'main', image: 'pause', ports, resources: { requests: { cpu: '150m' } } }] };
    },
  ],
];

/** @param before names of the existing deployments */
export function randomDeployment(roll: Dice, name: string, before: readonly string[]): KubeObject {
  const draw = { roll, name, names: [...before, name] };
  let pod: Fragment = {};
  for (const [oneIn, wish] of WISHES) {
    if (!once(roll, oneIn)) continue;
    const more = wish(draw);
    pod = {
      ...pod,
      ...more,
      ...('affinity' in more ? { affinity: { ...(pod.affinity ?? {}), ...(more.affinity as object) } } : {}),
    };
  }
  const requests = { cpu: `${100 + 100 * roll.upTo(14)}m`, memory: `${128 * (1 + roll.upTo(8))}Mi` };
  return deployment(name, 1 + roll.upTo(5), pod, requests);
}
