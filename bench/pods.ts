/**
 * Pods of the scheduling benchmark, generated in a fixed order so that every run and every implementation has the same
 * pods.
 */
import {
  type Affinity,
  HOSTNAME_LABEL,
  type LabelSelector,
  type Pod,
  type TopologySpreadConstraint,
  ZONE_LABEL,
} from '#api/objects';

export type Draw = (n: number) => number;

const LABELS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const CPU = ['100m', '250m', '500m', '1000m', '1500m'];
const MEMORY = ['100Mi', '256Mi', '512Mi', '1024Mi', '2048Mi', '4096Mi'];
const CREATED = '2026-01-01T00:00:00Z';

const pick = (draw: Draw, from: readonly string[]): string => from[draw(from.length)] ?? '';

interface Shape {
  readonly labels: Readonly<Record<string, string>>;
  readonly requests: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
}

function podOf({ labels, requests, affinity, topologySpreadConstraints }: Shape, index: number): Pod {
  const number = String(index).padStart(12, '0');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${number}`,
      namespace: 'default',
      uid: number,
      creationTimestamp: CREATED,
      labels: { 'testing/cluster': 'unspecified', ...labels },
    },
    spec: {
      containers: [{ name: 'app', resources: { requests } }],
      ...(affinity === undefined ? {} : { affinity }),
      ...(topologySpreadConstraints === undefined ? {} : { topologySpreadConstraints }),
    },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
  };
}

const requestsFrom = (draw: Draw): Shape['requests'] => ({ cpu: pick(draw, CPU), memory: pick(draw, MEMORY) });

const selector = (matchLabels: Readonly<Record<string, string>>): LabelSelector => ({ matchLabels });

function generic(draw: Draw): Shape {
  const labels = { 'my-label': pick(draw, LABELS) };
  return { labels, requests: requestsFrom(draw) };
}

const spread =
  (topologyKey: string) =>
  (draw: Draw): Shape => {
    const labels = { 'my-label': pick(draw, LABELS) };
    const labelSelector = selector({ 'my-label': pick(draw, LABELS) });
    return {
      labels,
      requests: requestsFrom(draw),
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }],
    };
  };

function zoneAffinity(draw: Draw): Shape {
  const labels = { 'my-affininity': pick(draw, LABELS) };
  const term = { topologyKey: ZONE_LABEL, labelSelector: selector(labels) };
  return {
    labels,
    requests: requestsFrom(draw),
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  };
}

const NGINX = { app: 'nginx' };

function hostAntiAffinity(draw: Draw): Shape {
  const term = { topologyKey: HOSTNAME_LABEL, labelSelector: selector(NGINX) };
  return {
    labels: NGINX,
    requests: requestsFrom(draw),
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  };
}

/**
 * A fifth each without rules, spread over zones, spread over hosts, with zone affinity, and with host anti-affinity.
 */
export function diversePods(count: number, draw: Draw): readonly Pod[] {
  const fifth = Math.floor(count / 5);
  const blocks: readonly (readonly [(draw: Draw) => Shape, number])[] = [
    [generic, fifth],
    [spread(ZONE_LABEL), fifth],
    [spread(HOSTNAME_LABEL), fifth],
    [zoneAffinity, fifth],
    [hostAntiAffinity, fifth],
    [generic, count - 5 * fifth],
  ];
  return blocks.flatMap(([shape, size]) => Array.from({ length: size }, () => shape(draw))).map(podOf);
}

export const genericPods = (count: number, draw: Draw): readonly Pod[] =>
  Array.from({ length: count }, () => generic(draw)).map(podOf);

/** Equal pods that prefer a common zone and prefer anti-affinity by zone and host. */
export function preferencePods(count: number, draw: Draw): readonly Pod[] {
  const requests = requestsFrom(draw);
  const term = (topologyKey: string) => ({ topologyKey, labelSelector: selector(NGINX) });
  const affinity: Affinity = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 1,
          preference: { matchExpressions: [{ key: ZONE_LABEL, operator: 'In', values: ['test-zone-1'] }] },
        },
      ],
    },
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 10, podAffinityTerm: term(ZONE_LABEL) },
        { weight: 1, podAffinityTerm: term(HOSTNAME_LABEL) },
      ],
    },
  };
  return Array.from({ length: count }, () => ({ labels: NGINX, requests, affinity })).map(podOf);
}
