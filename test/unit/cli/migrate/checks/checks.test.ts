/** Findings and remedies of each check of `karpenter migrate status`. */
import { describe, expect, it } from '@jest/globals';
import type { Item } from '../../../../../src/cli/migrate/items.ts';
import { statusOf } from '../../../../../src/cli/migrate/status.ts';
import {
  ALPHA,
  alphaDefinitions,
  autoscaler,
  BOTH,
  claim,
  core,
  deployment,
  factsOf,
  GLOBAL_SETTINGS,
  karpenter,
  liveFactsOf,
  managed,
  node,
  nodeClass,
  type Parts,
  pool,
  pooled,
  provisioner,
  V1,
  webhook,
} from '../clusters.ts';

const itemsOf = (parts: Parts): readonly Item[] => statusOf(liveFactsOf(parts), []).items;
const about = (parts: Parts, subject: string | RegExp): readonly Item[] =>
  itemsOf(parts).filter((item) =>
    typeof subject === 'string' ? item.subject === subject : subject.test(item.subject),
  );
const without = (parts: Parts, ...kinds: readonly string[]): Parts => parts.filter(({ kind }) => !kinds.includes(kind));

describe('the installation', () => {
  it.each([
    ['v0.27.5', '0.32.9 → 0.37.7 → 1.0.x → 1.14.1'],
    ['v0.32.1', '0.37.7 → 1.0.x → 1.14.1'],
    ['v0.33.2', '0.33.12 → 1.0.x → 1.14.1'],
    ['0.37.7', '1.0.x → 1.14.1'],
    ['1.0.0', '1.14.1'],
  ])('has a supported path: %s', (tag, way) => {
    expect(about([karpenter(tag)], 'Karpenter kube-system/karpenter')).toMatchObject([
      { state: 'todo', message: expect.stringContaining(`required upgrades: ${way}, `) },
    ]);
  });

  it.each([
    ['1.1.0', 'ok'],
    ['1.14.1', 'ok'],
    ['latest', 'unknown'],
  ])('reports for %s: %s', (tag, state) => {
    expect(about([karpenter(tag)], 'Karpenter kube-system/karpenter')).toMatchObject([{ state }]);
  });

  it('is reported if it is scaled to 0, duplicated, or beside a cluster-autoscaler', () => {
    expect(about([karpenter('1.14.1', 'kube-system', { replicas: 0 })], /^Karpenter /)).toMatchObject([
      { state: 'todo', next: 'kubectl scale deployment karpenter -n kube-system --replicas 2' },
    ]);
    expect(about([karpenter('1.14.1'), karpenter('1.13.0', 'karpenter')], 'controllers')).toHaveLength(1);
    expect(about([karpenter('1.14.1'), autoscaler()], 'autoscalers')).toHaveLength(1);
    expect(about([karpenter('1.14.1'), autoscaler(0)], 'autoscalers')).toHaveLength(0);
    expect(about([karpenter('1.14.1'), autoscaler(0)], /^cluster-autoscaler/)).toMatchObject([
      { message: 'is scaled to 0, but still installed' },
    ]);
  });

  it('is reported if chart and image differ', () => {
    const labelled = (chart: string) => {
      const made = karpenter('0.37.7');
      return { ...made, metadata: { ...made.metadata, labels: { ...made.metadata.labels, 'helm.sh/chart': chart } } };
    };
    expect(about([labelled('karpenter-0.37.6')], /^chart of/)).toEqual([]);
    expect(about([labelled('karpenter-v0.33.2')], /^chart of/)).toMatchObject([
      { state: 'todo', message: 'has version v0.33.2, but the image has version 0.37.7' },
    ]);
  });

  it('needs two zones for two replicas', () => {
    const replicas = (...zones: readonly string[]) =>
      about(
        [karpenter('1.0.0'), ...zones.map((zone) => managed(zone, 'system', zone)), pooled('elsewhere')],
        /^replicas of/,
      );
    expect(replicas('us-east-1a')).toMatchObject([
      { state: 'todo', message: expect.stringContaining('in zone us-east-1a;') },
    ]);
    expect(replicas('us-east-1a', 'us-east-1b')).toMatchObject([{ state: 'ok' }]);
  });

  it('reports the settings of versions before 0.33', () => {
    expect(about([karpenter('v0.32.1'), GLOBAL_SETTINGS], /^ConfigMap/)).toMatchObject([{ state: 'blocked' }]);
    expect(about([karpenter('0.37.7'), GLOBAL_SETTINGS], /^ConfigMap/)).toMatchObject([
      { state: 'todo', next: 'kubectl delete configmap karpenter-global-settings -n karpenter' },
    ]);
  });
});

describe('a kind', () => {
  it('is rewritten after v1 is the storage version if it has other stored versions', () => {
    const stored = (versions: readonly string[]) =>
      about(
        [karpenter('1.0.8'), ...core({ versions, stored: ['v1beta1', 'v1'] }), pool('v1')],
        'CRD nodepools.karpenter.sh',
      );
    expect(stored(['v1', 'v1beta1'])).toMatchObject([
      {
        state: 'todo',
        message: expect.stringContaining('1 object of the kind'),
        next:
          'kubectl get nodepools -o json | kubectl replace -f - && kubectl patch crd nodepools.karpenter.sh --subresource status ' +
          `--type merge -p '{"status":{"storedVersions":["v1"]}}'`,
      },
    ]);
    expect(stored(['v1beta1', 'v1'])).toMatchObject([{ state: 'blocked', next: 'upgrade to 1.0, which stores v1' }]);
  });

  it('waits for 1.1 if a webhook converts it, and is broken after it', () => {
    const converted = core({ versions: ['v1'], stored: ['v1'], isConverted: true });
    expect(about([karpenter('1.0.8'), ...converted], 'CRD nodepools.karpenter.sh')).toMatchObject([
      { state: 'blocked' },
    ]);
    expect(about([karpenter('1.5.0'), ...converted], 'CRD nodepools.karpenter.sh')).toMatchObject([
      { state: 'todo', next: expect.stringMatching(/^kubectl patch crd nodepools.karpenter.sh --type json/) },
    ]);
  });

  it('is deleted last if it is alpha, and never while it has objects', () => {
    const subject = 'CRD provisioners.karpenter.sh';
    const next = 'kubectl delete crd provisioners.karpenter.sh';
    expect(about([...alphaDefinitions(true), provisioner('x')], subject)).toMatchObject([
      { state: 'blocked', message: expect.stringContaining('deletes them and their nodes immediately') },
    ]);
    expect(about(alphaDefinitions(true), subject)).toMatchObject([{ state: 'todo', next }]);
    const unread = factsOf(alphaDefinitions(true), {
      notRead: [{ kind: 'Provisioner', why: 'forbidden', effect: '' }],
    });
    expect(statusOf(unread, []).items.find((item) => item.subject === subject)).toMatchObject({ state: 'blocked' });
  });

  it('gets the labels of a Helm release if none owns it, and is not deleted for it', () => {
    const [item] = about(
      [karpenter('1.0.8'), ...core({ versions: ['v1'], stored: ['v1'], isOwned: false })],
      'ownership of CRDs',
    );
    expect(item).toMatchObject({
      state: 'todo',
      message: expect.stringContaining('Do not delete a CRD to solve this'),
    });
    expect(item?.next).toMatch(
      /^kubectl label crd nodepools.karpenter.sh .* app.kubernetes.io\/managed-by=Helm --overwrite && kubectl annotate crd/,
    );
  });

  it('has its own webhooks, distinct from other webhooks', () => {
    const [ours, other] = [
      webhook('Validating', 'validation.webhook.karpenter.sh'),
      webhook('Validating', 'karpenter-policy.example.com'),
    ];
    expect(about([karpenter('1.14.1'), ours, other], /^webhook/)).toMatchObject([
      { state: 'todo', next: 'kubectl delete validatingwebhookconfiguration validation.webhook.karpenter.sh' },
    ]);
    expect(about([karpenter('0.37.7'), ours], /^webhook/)).toMatchObject([{ state: 'blocked' }]);
  });
});

describe('a custom resource', () => {
  it('must be converted if it is alpha, and is deleted last', () => {
    expect(about(without(BOTH, 'NodePool'), /^Provisioners/)).toMatchObject([
      { state: 'todo', next: expect.stringContaining('karpenter convert -f') },
    ]);
    expect(about(BOTH, /^Provisioners/)).toMatchObject([{ state: 'blocked' }]);
  });

  it('is reported without group in its nodeClassRef', () => {
    const bare = pool('v1', { nodeClassRef: { name: 'default' } });
    expect(about([bare], /^NodePools/)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ state: 'todo', message: expect.stringContaining('has no group or kind') }),
      ]),
    );
  });

  it('is waited for while it is drifted', () => {
    expect(about([claim('v1', 'a', true), claim('v1', 'b')], 'drift')).toMatchObject([
      { state: 'todo', message: expect.stringMatching(/^1 NodeClaim of 2 drifted: a;/) },
    ]);
  });

  it('has the reason if it is not Ready', () => {
    const broken = pool('v1', {
      conditions: [{ type: 'Ready', status: 'False', reason: 'NodeClassNotFound', message: 'no such class' }],
    });
    expect(about([broken], 'NodePool default')).toMatchObject([
      { state: 'todo', message: 'is not Ready: no such class' },
    ]);
  });

  it('is reported before 1.1 if its metadata hop limit is one', () => {
    const short = nodeClass('v1', { metadataOptions: { httpPutResponseHopLimit: 1 } });
    expect(about([karpenter('1.0.8'), short], 'EC2NodeClasses default')).toMatchObject([{ state: 'todo' }]);
    expect(about([karpenter('1.1.0'), short], 'EC2NodeClasses default')).toEqual([]);
  });

  it('is ignored if it belongs to another API with the same kind', () => {
    const machine = { apiVersion: 'cluster.x-k8s.io/v1beta1', kind: 'Machine', metadata: { name: 'm' } };
    expect(about([machine], 'Machines')).toEqual([]);
  });

  it('has to register the taint of v1 if its AMI family is Custom', () => {
    const custom = (spec: object) =>
      about([karpenter('1.0.8'), nodeClass('v1', { amiFamily: 'Custom', ...spec })], 'EC2NodeClass default');
    expect(custom({ userData: 'kubelet --register-with-taints=karpenter.sh/unregistered:NoExecute' })).toMatchObject([
      { state: 'ok' },
    ]);
    expect(custom({ userData: 'kubelet' })).toMatchObject([{ state: 'todo' }]);
    expect(custom({})).toMatchObject([{ state: 'todo' }]);
    expect(custom({ userData: '# redacted by karpenter snapshot (00000000): …' })).toMatchObject([
      { state: 'unknown' },
    ]);
  });
});

describe('a node', () => {
  it('is moved from its Provisioner in order: NodePools, the taint, then one node at a time', () => {
    const subject = 'nodes of Provisioner default';
    expect(about(ALPHA, subject)).toMatchObject([{ message: expect.stringContaining('no NodePool can replace them') }]);
    const untainted = [...without(BOTH, 'Provisioner'), provisioner('default')];
    expect(about(untainted, subject)).toMatchObject([{ next: expect.stringContaining('karpenter.sh/legacy') }]);
    expect(about(BOTH, subject)).toMatchObject([
      { next: expect.stringMatching(/^kubectl cordon ip-10-1-35-97 && kubectl drain/) },
    ]);
  });

  it('belongs to a Machine only by its owner', () => {
    const owned = node(
      'a',
      {},
      { ownerReferences: [{ kind: 'Machine', name: 'm', apiVersion: 'karpenter.sh/v1alpha5', uid: '1' }] },
    );
    expect(about([owned], 'nodes of Machines')).toHaveLength(1);
  });

  it('has taints that must be removed manually', () => {
    const items = itemsOf([
      node('a', { 'karpenter.sh/nodepool': 'x' }, { taints: ['karpenter.sh/disruption'] }),
      node('b', {}, { taints: ['karpenter.sh/legacy'] }),
    ]);
    expect(items.filter(({ subject }) => subject.startsWith('taint')).map(({ next }) => next)).toEqual([
      'kubectl taint nodes a karpenter.sh/disruption-, once no version before 1.0 is running',
      'kubectl taint nodes b karpenter.sh/legacy-, or drain them',
    ]);
  });

  it('is valid in a group beside Karpenter, and must be moved while a cluster-autoscaler runs', () => {
    expect(about(V1, 'managed node group system')).toMatchObject([{ state: 'ok' }]);
    expect(about([...V1, autoscaler()], 'managed node group system')).toMatchObject([{ state: 'todo' }]);
  });

  it('is ignored on Fargate and in EKS Auto Mode', () => {
    const own = [
      node('fargate', { 'eks.amazonaws.com/compute-type': 'fargate' }),
      node('auto', { 'eks.amazonaws.com/compute-type': 'auto', 'karpenter.sh/nodepool': 'general-purpose' }),
    ];
    expect(itemsOf(own).filter(({ area, state }) => area === 'nodes' && state !== 'ok')).toEqual([]);
  });

  it('has the current annotation if it must not be consolidated', () => {
    const [item] = about(
      [node('a', {}, { annotations: { 'karpenter.sh/do-not-consolidate': 'true' } })],
      /do-not-consolidate/,
    );
    expect(item?.next).toBe(
      'kubectl annotate nodes a karpenter.sh/do-not-disrupt=true karpenter.sh/do-not-consolidate-',
    );
  });
});

describe('a workload', () => {
  it.each([
    [
      'an old annotation',
      { annotations: { 'karpenter.sh/do-not-evict': 'true' } },
      'annotation karpenter.sh/do-not-evict',
    ],
    [
      'an annotation of cluster-autoscaler',
      { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } },
      /safe-to-evict/,
    ],
    ['an old toleration', { spec: { tolerations: [{ key: 'karpenter.sh/disruption' }] } }, /^toleration/],
    ['a selector', { spec: { nodeSelector: { 'karpenter.sh/provisioner-name': 'x' } } }, /^label/],
    [
      'an affinity',
      {
        spec: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchExpressions: [{ key: 'karpenter.sh/provisioner-name', operator: 'DoesNotExist' }] },
                ],
              },
            },
          },
        },
      },
      /^label/,
    ],
  ])('must be converted with %s', (_, template, subject) => {
    expect(about([deployment('web', template)], subject)).toMatchObject([
      {
        state: 'todo',
        message: expect.stringContaining('Deployment web/web'),
        next: expect.stringContaining('karpenter convert -f'),
      },
    ]);
  });

  it('is done if it has both annotations', () => {
    const annotations = { 'karpenter.sh/do-not-evict': 'true', 'karpenter.sh/do-not-disrupt': 'true' };
    expect(about([deployment('web', { annotations })], /annotation/)).toEqual([]);
    const safe = { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' };
    expect(about([deployment('web', { annotations: safe })], /annotation/)).toEqual([]);
  });
});
