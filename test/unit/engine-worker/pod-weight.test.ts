/**
 * Pods are copied to workers in parts. A part with large pods must not block for longer than a part with usual pods.
 */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { type ListMessage, SentLists } from '../../../src/engine-worker/copied-lists.ts';
import { weightOfPod } from '../../../src/engine-worker/pod-weight.ts';
import { numberedPod } from '../../../src/engine-worker/trimmed.ts';
import { partial } from '../../support/partial.ts';
import { type PodParts, pod } from '../engine/build.ts';

const names = (count: number, length = 60): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${at}-`.padEnd(length, 'x'));
const map = (count: number) => Object.fromEntries(names(count).map((name) => [name, name]));

/** Pods of about 300 kB each. */
const HUGE: readonly {
  readonly what: string;
  readonly parts?: PodParts;
  readonly metadata?: Partial<Pod['metadata']>;
}[] = [
  { what: 'annotations', metadata: { annotations: { note: 'x'.repeat(256 * 1024) } } },
  { what: 'labels', metadata: { labels: map(2_500) } },
  { what: 'a node selector', parts: { nodeSelector: map(2_500) } },
  { what: 'tolerations', parts: { tolerations: names(5_000).map((key) => ({ key, operator: 'Exists' as const })) } },
  {
    what: 'values of node affinity',
    parts: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: names(5_000) }] }],
          },
        },
      },
    },
  },
  {
    what: 'namespaces of a term of pod affinity',
    parts: {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', namespaces: names(5_000) }],
        },
      },
    },
  },
  {
    what: 'values of a spread constraint',
    parts: {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: names(5_000) }] },
        },
      ],
    },
  },
  {
    what: 'a volume',
    parts: {
      volumes: [
        partial({ name: 'v', ephemeral: { volumeClaimTemplate: { metadata: { annotations: map(2_500) }, spec: {} } } }),
      ],
    },
  },
];

const podOf = (name: string, parts: PodParts, metadata: Partial<Pod['metadata']> = {}): Pod => {
  const made = pod(name, parts);
  return { ...made, metadata: { ...made.metadata, ...metadata } };
};

describe('the weight of a pod', () => {
  it('is about one for a usual pod, so that 250 pods are sent in one part', async () => {
    const messages: ListMessage[] = [];
    const items = Array.from({ length: 500 }, (_, at) => podOf(`p-${at}`, { cpu: '1', memory: '1Gi' }));
    await new SentLists((message) => void messages.push(message)).send({ name: 'pods', items, weightOf: weightOfPod });
    expect(messages.map((message) => message.kind === 'put' && message.items.length)).toEqual([250, 250]);
  });

  it.each(HUGE)('limits the number of pods per part if they have huge $what', async ({ parts = {}, metadata = {} }) => {
    const sizes: number[] = [];
    const copies = new SentLists((message) => void sizes.push(JSON.stringify(message).length));
    // no two pods share a part
    const items = Array.from({ length: 20 }, (_, at) => structuredClone(podOf(`p-${at}`, parts, metadata)));
    await copies.send({ name: 'pods', items, weightOf: weightOfPod, formOf: numberedPod });
    expect(Math.max(...sizes)).toBeLessThan(2_500_000);
    expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(5_000_000);
  });
});
