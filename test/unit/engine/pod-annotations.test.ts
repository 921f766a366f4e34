import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { annotationNotes, annotationProblems } from '#engine/explanations';

const podOf = (annotations: Record<string, string>, name = 'web'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: name, annotations },
  spec: { containers: [] },
});
const own = (annotations: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [`karpenter-ts.sh/${name}`, value]));

describe('annotationProblems', () => {
  it.each<Record<string, string>>([
    { 'spot-share': '50%' },
    { 'preference-worth': '0%' },
    { surge: 'false' },
    { surge: '10m' },
    { gang: 'train', 'gang-min': '10000', 'gang-topology': 'topology.kubernetes.io/zone' },
    { 'gang-disruption': 'WhenFinished' },
    { 'surge-started': 'x' },
  ])('accepts %j', (annotations) => {
    expect(annotationProblems(podOf(own(annotations)))).toEqual([]);
  });

  it.each<[Record<string, string>, string]>([
    [{ 'spot-share': '50' }, 'use a share of the replicas such as "50%"'],
    [{ 'preference-worth': 'much' }, 'use a share of the price of the pod such as "25%"'],
    [{ surge: '2h' }, 'use "true", "false" or a duration of up to 1h, such as "10m"'],
    [{ gang: '' }, 'use the name of the gang, or remove the annotation'],
    [{ gang: 'train', 'gang-min': '0' }, 'use an integer from 1 to 10000, and set karpenter-ts.sh/gang'],
    [{ 'gang-min': '4' }, 'use an integer from 1 to 10000, and set karpenter-ts.sh/gang'],
    [{ gang: 'train', 'gang-topology': 'a b' }, 'use the name of a label such as "topology.kubernetes.io/zone"'],
    [{ 'gang-disruption': 'Never' }, 'use "Together" or "WhenFinished"'],
  ])('names the pod, the annotation and the remedy of %j', (annotations, remedy) => {
    const [name = '', value = ''] = Object.entries(annotations).at(-1) ?? [];
    const [problem, ...others] = annotationProblems(podOf(own(annotations)));
    expect(others).toEqual([]);
    expect(problem?.text).toContain(
      `pod default/web: annotation karpenter-ts.sh/${name} ${JSON.stringify(value)} is not valid`,
    );
    expect(problem?.text).toContain(remedy);
  });

  it('shortens a huge value', () => {
    const [problem] = annotationProblems(podOf(own({ 'spot-share': 'x'.repeat(200_000) })));
    expect(problem?.text.length).toBeLessThan(600);
  });
});

describe('annotationNotes', () => {
  it('has one note for the pods of a workload, and a bound', () => {
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'db', controller: true }];
    const replicas = Array.from({ length: 30 }, (_, at): Pod => {
      const { metadata, ...rest } = podOf(own({ 'spot-share': '2' }), `db-${at}`);
      return { ...rest, metadata: { ...metadata, ownerReferences } };
    });
    expect(annotationNotes(replicas)).toEqual([
      'StatefulSet default/db: annotation karpenter-ts.sh/spot-share "2" is not valid, it has no effect; ' +
        'use a share of the replicas such as "50%"',
    ]);
    const notes = annotationNotes(Array.from({ length: 25 }, (_, at) => podOf(own({ surge: 'no' }), `web-${at}`)));
    expect(notes).toHaveLength(21);
    expect(notes.at(-1)).toBe('5 more annotations are not valid');
  });
});
