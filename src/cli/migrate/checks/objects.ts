/** Checks the API versions of custom resources, and leftovers of earlier versions in them. */
import {
  type Conditioned,
  type EC2NodeClass,
  getCondition,
  isTrue,
  type KubeObject,
  type NodeClaim,
  READY,
} from '#api/objects';
import { leftovers } from '#aws/leftovers';
import { counted, inShort, pluralOf } from '../../render/table.ts';
import type { Facts } from '../facts.ts';
import { type Item, itemsIn } from '../items.ts';
import { stageIn } from './installation.ts';

const { blocked, itemOf, itemsOf, ok, todo, unknown } = itemsIn('objects');
const KINDS = ['NodePool', 'EC2NodeClass', 'NodeClaim'] as const;
const MANIFESTS = 'karpenter convert -f FILE, for the source files';

export const namesOf = (objects: readonly KubeObject[]): readonly string[] =>
  objects.map(({ metadata }) => metadata.name);

export const objectItems = (facts: Facts): readonly Item[] => [
  ...alphaObjects(facts),
  ...KINDS.flatMap((kind) => betaObjects(facts, kind)),
  ...checkReferences(facts),
  ...KINDS.flatMap((kind) =>
    itemsOf(facts, { subject: `annotations of ${pluralOf(kind)}`, kinds: [kind] }, () =>
      leftovers(facts.of(kind), stageIn(facts) === 'conversion').map((finding) => itemOf(finding)),
    ),
  ),
  ...readiness(facts),
  ...drift(facts),
  ...registration(facts),
  ...hopLimit(facts),
];

function alphaObjects(facts: Facts): readonly Item[] {
  return ['Provisioner', 'AWSNodeTemplate'].flatMap((kind) =>
    itemsOf(facts, { subject: pluralOf(kind), kinds: [kind] }, () => {
      const found = facts.of(kind);
      if (found.length === 0) return [];
      const successor = kind === 'Provisioner' ? 'NodePool' : 'EC2NodeClass';
      const subject = `${pluralOf(kind)} ${inShort(namesOf(found))}`;
      return facts.of(successor).length === 0
        ? [todo(subject, `no ${successor} exists that replaces them`, MANIFESTS)]
        : [
            blocked(
              subject,
              'delete them after their last node is gone, because deleting them deletes their nodes immediately',
              `kubectl get nodes -l karpenter.sh/provisioner-name`,
            ),
          ];
    }),
  );
}

const versionOf = ({ apiVersion }: KubeObject): string => apiVersion.split('/')[1] ?? '';

/**
 * Checks the API version of objects. An API server that serves v1 returns objects in v1, regardless of the stored
 * version.
 */
function betaObjects(facts: Facts, kind: (typeof KINDS)[number]): readonly Item[] {
  return itemsOf(facts, { subject: pluralOf(kind), kinds: [kind] }, () => {
    const found = facts.of(kind);
    const old = found.filter((object) => versionOf(object) !== 'v1');
    if (found.length === 0) return [];
    if (old.length === 0) return [ok(pluralOf(kind), `${counted(found.length, 'object')} of v1`)];
    const versions = [...new Set(old.map(versionOf))].join(', ');
    const subject = `${pluralOf(kind)} ${inShort(namesOf(old))}`;
    return [
      blocked(
        subject,
        `have version ${versions}, and the cluster serves no later version`,
        kind === 'NodeClaim' ? 'karpenter migrate plan' : `${MANIFESTS}; apply the result once version 1.0 serves v1`,
      ),
    ];
  });
}

interface Referring extends KubeObject {
  readonly spec?: {
    readonly nodeClassRef?: object;
    readonly template?: { readonly spec?: { readonly nodeClassRef?: object } };
  };
}

/** Reports references without group and kind, which NodePools and NodeClaims must have since 1.1. */
const checkReferences = (facts: Facts): readonly Item[] =>
  (['NodePool', 'NodeClaim'] as const).flatMap((kind) =>
    itemsOf(facts, { subject: `nodeClassRef of ${pluralOf(kind)}`, kinds: [kind] }, () => {
      const found = facts.of<Referring>(kind).filter((object) => {
        const { nodeClassRef = {} } = (kind === 'NodePool' ? object.spec?.template?.spec : object.spec) ?? {};
        return versionOf(object) === 'v1' && !('group' in nodeClassRef && 'kind' in nodeClassRef);
      });
      const path = kind === 'NodePool' ? 'spec.template.spec.nodeClassRef' : 'spec.nodeClassRef';
      const next =
        kind === 'NodePool'
          ? `add group: karpenter.k8s.aws and kind: EC2NodeClass, for example with karpenter convert -f FILE`
          : 'replace them one at a time with kubectl delete nodeclaim NAME';
      return found.length === 0
        ? []
        : [
            todo(
              `${pluralOf(kind)} ${inShort(namesOf(found))}`,
              `${path} has no group or kind, which 1.1 and later require`,
              next,
            ),
          ];
    }),
  );

function readiness(facts: Facts): readonly Item[] {
  return (['NodePool', 'EC2NodeClass'] as const).flatMap((kind) =>
    facts.of<Conditioned>(kind).flatMap((object) => {
      const ready = getCondition(object, READY);
      if (ready === undefined || ready.status === 'True') return [];
      return [
        todo(
          `${kind} ${object.metadata.name}`,
          `is not Ready: ${ready.message || ready.reason || ready.status}`,
          `kubectl describe ${kind.toLowerCase()} ${object.metadata.name}`,
        ),
      ];
    }),
  );
}

/** Reports drifted nodes, because the version should not change while nodes are replaced. */
const drift = (facts: Facts): readonly Item[] =>
  itemsOf(facts, { subject: 'drift', kinds: ['NodeClaim'] }, () => {
    const claims = facts.of<NodeClaim>('NodeClaim');
    const drifted = claims.filter((claim) => isTrue(claim, 'Drifted'));
    if (drifted.length > 0)
      return [
        todo(
          'drift',
          `${counted(drifted.length, 'NodeClaim')} of ${claims.length} drifted: ${inShort(namesOf(drifted))}; they are replaced as disruption budgets allow`,
          'kubectl get nodeclaims -w, until no NodeClaim is drifted; karpenter explain node -f now.yaml shows why one is not replaced',
        ),
      ];
    return claims.length === 0 ? [] : [ok('drift', `none of ${counted(claims.length, 'NodeClaim')}`)];
  });

/** Checks custom user data of AMI family Custom. Its nodes must register with the taint that v1 expects. */
const registration = (facts: Facts): readonly Item[] =>
  itemsOf(facts, { subject: 'user data of AMI family Custom', kinds: ['EC2NodeClass'] }, () =>
    facts
      .of<EC2NodeClass>('EC2NodeClass')
      .filter(({ spec }) => spec?.amiFamily === 'Custom')
      .flatMap(({ metadata: { name } }) => {
        const subject = `EC2NodeClass ${name}`;
        const next =
          'change the user data to start the kubelet with --register-with-taints=karpenter.sh/unregistered:NoExecute';
        const registers = facts.registersTaint.get(name);
        if (registers === true) return [ok(subject, 'the user data contains the taint karpenter.sh/unregistered')];
        return registers === undefined && facts.registersTaint.has(name)
          ? [unknown(subject, 'the user data is not in the snapshot', `karpenter migrate status without -f; ${next}`)]
          : stageIn(facts) === 'alpha'
            ? []
            : [
                todo(
                  subject,
                  'AMI family Custom: the user data does not contain the taint karpenter.sh/unregistered',
                  next,
                ),
              ];
      }),
  );

/**
 * Reports hop limits of 1. Up to 0.37, the default was 2, and pods outside the host network could reach the instance
 * metadata.
 */
function hopLimit(facts: Facts): readonly Item[] {
  const stage = stageIn(facts);
  if (stage !== 'beta' && stage !== 'conversion') return [];
  return itemsOf(facts, { subject: 'metadata hop limit', kinds: ['EC2NodeClass'] }, () => {
    const short = facts
      .of<EC2NodeClass>('EC2NodeClass')
      .filter((object) => versionOf(object) === 'v1' && object.spec?.metadataOptions?.httpPutResponseHopLimit === 1);
    return short.length === 0
      ? []
      : [
          todo(
            `EC2NodeClasses ${inShort(namesOf(short))}`,
            'hop limit 1, the default of v1: pods outside of the host network cannot reach the instance metadata',
            'set spec.metadataOptions.httpPutResponseHopLimit: 2 if pods need it, or use IRSA or Pod Identity',
          ),
        ];
  });
}
