/** `karpenter migrate status` for clusters at each stage. */
import { describe, expect, it } from '@jest/globals';
import { MIGRATE_STATUS } from '../../../../scripts/reference/outputs/migrate.ts';
import { itemsIn } from '../../../../src/cli/migrate/items.ts';
import { isDone, statusOf, statusText } from '../../../../src/cli/migrate/status.ts';
import { strictly } from '../../scripts/strictly.ts';
import { ALPHA, BETA, BOTH, CLUSTERS, CONVERSION, factsOf, karpenter, liveFactsOf, V1 } from './clusters.ts';

describe('status as text', () => {
  it.each(Object.entries(CLUSTERS))('prints %s', (_, parts) => {
    expect(`\n${statusText(statusOf(liveFactsOf(parts), []), 110)}`).toMatchSnapshot();
  });
});

describe('status as JSON', () => {
  it.each(Object.entries(CLUSTERS))('fits its schema for %s', (_, parts) => {
    expect(strictly(MIGRATE_STATUS, JSON.parse(JSON.stringify(statusOf(liveFactsOf(parts), []))))).toEqual([]);
  });

  it('contains stage, controllers, items, counts and the next step', () => {
    const status = statusOf(liveFactsOf(ALPHA), []);
    expect(status).toMatchObject({
      stage: 'alpha',
      controllers: [{ name: 'karpenter/karpenter', version: 'v0.31.3', isKarpenter: true }],
      next: 'karpenter migrate plan',
    });
    expect(Object.values(status.counts).reduce((sum, count) => sum + count, 0)).toBe(status.items.length);
    for (const item of status.items) expect(item.next === undefined).toBe(item.state === 'ok');
  });

  it.each([
    [ALPHA, 'alpha'],
    [BOTH, 'both'],
    [BETA, 'beta'],
    [CONVERSION, 'conversion'],
    [V1, 'v1'],
    [[karpenter('latest')], null],
    [[], null],
  ] as const)('determines the stage', (parts, stage) => {
    expect(statusOf(liveFactsOf(parts), []).stage).toBe(stage);
  });
});

describe('the end', () => {
  it('is reached if all items are done and known', () => {
    const done = statusOf(liveFactsOf(V1), [itemsIn('account').itemOf({ level: 'ok', subject: 's', message: 'm' })]);
    expect(done.items.filter(({ state }) => state !== 'ok')).toEqual([]);
    expect(isDone(done)).toBe(true);
    expect(done.next).toBeNull();
  });

  it('is not reached if a request was denied', () => {
    const unasked = itemsIn('account').itemOf({
      level: 'warning',
      subject: 's',
      message: 'm',
      fix: 'f',
      unasked: true,
    });
    expect(unasked.state).toBe('unknown');
    expect(isDone(statusOf(liveFactsOf(V1), [unasked]))).toBe(false);
    const refused = factsOf(V1, { notRead: [{ kind: 'Pod', why: 'forbidden', effect: '' }] });
    expect(statusOf(refused, []).items.filter(({ subject }) => subject === 'pods and workloads')).toMatchObject([
      { state: 'unknown', message: 'Pods: forbidden' },
    ]);
  });

  it('is never reached for a dump, because objects may be missing', () => {
    const facts = factsOf(V1);
    const dump = { ...facts, notAsked: (kind: string) => (facts.of(kind).length > 0 ? undefined : 'not in the file') };
    const { items } = statusOf(dump, []);
    expect(items.filter(({ state }) => state === 'unknown').map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(['Provisioners', 'Machines', 'mutating webhooks', 'pods and workloads']),
    );
  });

  it('errors are reported although some requests were denied', () => {
    const facts = factsOf(ALPHA, { notRead: [{ kind: 'Pod', why: 'forbidden', effect: '' }] });
    const subjects = statusOf(facts, []).items.map(({ subject }) => subject);
    expect(subjects).toEqual(expect.arrayContaining(['annotation karpenter.sh/do-not-evict', 'pods and workloads']));
  });
});

describe('a file with objects of odd form', () => {
  it.each([
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'x' },
      spec: { template: { spec: { containers: 5 } } },
    },
  ])('names the document', (object) => {
    expect(() => factsOf([object])).toThrow(/^fixture: is not a valid Deployment: /);
  });

  it.each([
    [
      'kinds',
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'nodepools.karpenter.sh' },
      },
    ],
    ['nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'x' }, spec: { taints: 7 } }],
    [
      'objects',
      {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name: 'x' },
        spec: { template: { spec: { nodeClassRef: 3 } } },
      },
    ],
    ['workloads', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, spec: { tolerations: 4 } }],
  ])('is unknown in the part %s, and never ok', (area, object) => {
    const { items } = statusOf(liveFactsOf([object]), []);
    expect(items.filter((item) => item.area === area)).toContainEqual(
      expect.objectContaining({
        state: 'unknown',
        message: expect.stringContaining('does not match the schema of its kind'),
      }),
    );
  });
});
