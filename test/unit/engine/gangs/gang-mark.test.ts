import { describe, expect, it } from '@jest/globals';
import { KEPT_ANNOTATIONS } from '#api/objects';
import { type GangMark, gangMarkOf } from '../../../../src/engine/gangs/gang-mark.ts';
import { pod } from '../build.ts';

type Marks = Readonly<Record<string, string>>;

const markOf = (labels: Marks, annotations: Marks = {}, spec: object = {}): GangMark | undefined => {
  const own = pod('a', { labels, ...spec });
  return gangMarkOf({ ...own, metadata: { ...own.metadata, annotations } });
};

/** Marks of all sources, by precedence. */
const ALL: readonly (readonly [id: string, labels: Marks, annotations: Marks, spec: object])[] = [
  ['PodGroup.scheduling.k8s.io default/g', {}, {}, { schedulingGroup: { podGroupName: 'g' } }],
  [
    'Workload.scheduling.k8s.io default/w/pg/0',
    {},
    {},
    { workloadRef: { name: 'w', podGroup: 'pg', podGroupReplicaKey: '0' } },
  ],
  ['PodGroup.scheduling.x-k8s.io default/co', { 'scheduling.x-k8s.io/pod-group': 'co' }, {}, {}],
  ['PodGroup.scheduling.volcano.sh default/vol', {}, { 'scheduling.k8s.io/group-name': 'vol' }, {}],
  [
    'LeaderWorkerSet default/lws-2',
    { 'leaderworkerset.sigs.k8s.io/name': 'lws', 'leaderworkerset.sigs.k8s.io/group-index': '2' },
    {},
    {},
  ],
  [
    'JobSet default/key',
    { 'jobset.sigs.k8s.io/job-key': 'key' },
    { 'alpha.jobset.sigs.k8s.io/exclusive-topology': 'rack' },
    {},
  ],
  ['karpenter-ts.sh/gang default/own', {}, { 'karpenter-ts.sh/gang': 'own', 'karpenter-ts.sh/gang-min': '3' }, {}],
];

describe('the mark of a gang', () => {
  it.each(ALL)('is read as %s', (id, labels, annotations, spec) => {
    expect(markOf(labels, annotations, spec)?.id).toBe(id);
  });

  it('is that of the first source if several apply', () => {
    for (const [at, [id]] of ALL.entries()) {
      const later = ALL.slice(at);
      const merged = (part: 1 | 2 | 3): Marks => Object.assign({}, ...later.map((each) => each[part]));
      expect(markOf(merged(1), merged(2), merged(3))?.id).toBe(id);
    }
  });

  it('is absent on ordinary pods, also in a JobSet without exclusive placement', () => {
    expect(markOf({ app: 'web' })).toBeUndefined();
    expect(markOf({ 'jobset.sigs.k8s.io/job-key': 'key' })).toBeUndefined();
  });

  it('has the minimum and the topology key of the annotations', () => {
    const annotations = { 'karpenter-ts.sh/gang': 'own', 'karpenter-ts.sh/gang-min': '3' };
    expect(markOf({}, annotations)).toMatchObject({ minimum: 3, topologyKey: undefined, problem: undefined });
    expect(markOf({}, { ...annotations, 'karpenter-ts.sh/gang-topology': 'rack' })?.topologyKey).toBe('rack');
  });

  it.each(['', '0', '-1', '1.5', '10001', '99999999999999999999', '3 pods'])('rejects the minimum "%s"', (minimum) => {
    const mark = markOf({}, { 'karpenter-ts.sh/gang': 'own', 'karpenter-ts.sh/gang-min': minimum });
    expect([mark?.minimum, mark?.problem]).toEqual([
      undefined,
      expect.stringContaining('use an integer from 1 to 10000'),
    ]);
  });
});

describe('the cache of the operator', () => {
  it('keeps all annotations that mark gangs', () => {
    const used = ALL.flatMap(([, , annotations]) => Object.keys(annotations));
    expect(used.filter((key) => !KEPT_ANNOTATIONS.has(key))).toEqual([]);
    expect(KEPT_ANNOTATIONS.has('karpenter-ts.sh/gang-topology')).toBe(true);
  });
});
