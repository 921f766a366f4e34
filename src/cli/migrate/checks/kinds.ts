/** Checks CustomResourceDefinitions and webhooks: served and stored versions, and leftovers of older versions. */

import type { KubeObject } from '#api/objects';
import { customResourceDefinitions } from '#api/schema';
import { isOldWebhook } from '#aws/leftovers';
import { own } from '#lib';
import { counted, pluralOf } from '../../render/table.ts';
import type { Facts } from '../facts.ts';
import { type Item, itemsIn } from '../items.ts';
import { stageIn } from './installation.ts';

const { blocked, itemsOf, ok, todo } = itemsIn('kinds');

interface Definition extends KubeObject {
  readonly spec: {
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
    readonly conversion?: { readonly strategy?: string };
  };
  readonly status?: { readonly storedVersions?: readonly string[] };
}

/** CRDs that all versions since 0.32 need. */
const NEEDED = ['nodepools.karpenter.sh', 'nodeclaims.karpenter.sh', 'ec2nodeclasses.karpenter.k8s.aws'];
/** CRDs of alpha versions, and their kinds. */
export const ALPHA_KINDS: readonly (readonly [definition: string, kind: string])[] = [
  ['machines.karpenter.sh', 'Machine'],
  ['provisioners.karpenter.sh', 'Provisioner'],
  ['awsnodetemplates.karpenter.k8s.aws', 'AWSNodeTemplate'],
];
const RELEASE = 'karpenter-crd';

export const kindItems = (facts: Facts): readonly Item[] => [
  ...itemsOf(facts, { subject: 'CRDs', kinds: ['CustomResourceDefinition'] }, () => [
    ...NEEDED.flatMap((name) => neededItems(facts, name)),
    ...ownership(facts),
    ...ALPHA_KINDS.flatMap(([name, kind]) => alphaItem(facts, name, kind)),
  ]),
  ...webhookItems(facts),
];

const definitionIn = (facts: Facts, name: string): Definition | undefined =>
  facts.of<Definition>('CustomResourceDefinition').find(({ metadata }) => metadata.name === name);

function neededItems(facts: Facts, name: string): readonly Item[] {
  const subject = `CRD ${name}`;
  const found = definitionIn(facts, name);
  const stage = stageIn(facts);
  if (found === undefined)
    return [
      stage === 'alpha'
        ? blocked(subject, 'is installed with 0.32', 'karpenter migrate plan --from karpenter-alpha')
        : todo(subject, 'is not installed', 'helm upgrade --install karpenter-crd charts/karpenter-crd'),
    ];
  const served = found.spec.versions.filter(({ served: isServed }) => isServed).map((each) => each.name);
  if (!served.includes('v1'))
    return [
      blocked(
        subject,
        `serves ${served.join(', ')} but not v1, which the last patches of 0.33 to 0.37 and 1.0 add`,
        'karpenter migrate plan',
      ),
    ];
  const items = [...conversion(facts, found), ...storage(facts, found)];
  return items.length > 0 ? items : [ok(subject, 'serves v1, stores v1, has no conversion')];
}

/** Checks the conversion webhook of a CRD. If the webhook is not available, all reads of the kind fail. */
function conversion(facts: Facts, { metadata: { name }, spec }: Definition): readonly Item[] {
  if (spec.conversion?.strategy !== 'Webhook') return [];
  const stage = stageIn(facts);
  const subject = `CRD ${name}`;
  if (stage === 'beta' || stage === 'conversion' || stage === 'both')
    return [
      blocked(
        subject,
        'its objects are converted by a webhook of this version, which 1.1 and later do not contain',
        'apply the CRDs of 1.1 or later at the same time as that version, not earlier and not later',
      ),
    ];
  return [
    todo(
      subject,
      'its objects are converted by a webhook that is not served any more, so every read of them fails',
      `kubectl patch crd ${name} --type json -p '[{"op":"replace","path":"/spec/conversion","value":{"strategy":"None"}}]'`,
    ),
  ];
}

function storage(facts: Facts, { metadata: { name }, spec, status }: Definition): readonly Item[] {
  const others = (status?.storedVersions ?? []).filter((version) => version !== 'v1');
  if (others.length === 0) return [];
  const subject = `CRD ${name}`;
  const text = `objects may be stored as ${others.join(', ')}, which the CRDs of 1.1 and later cannot read`;
  if (!spec.versions.some((version) => version.name === 'v1' && version.storage))
    return [blocked(subject, text, 'upgrade to 1.0, which stores v1')];
  const { kind, plural } = spec.names;
  const count = facts.of(kind).length;
  return [
    todo(
      subject,
      `${text}; ${counted(count, 'object')} of the kind`,
      `kubectl get ${plural} -o json | kubectl replace -f - && kubectl patch crd ${name} --subresource status ` +
        `--type merge -p '{"status":{"storedVersions":["v1"]}}'`,
    ),
  ];
}

/** Returns the number of Karpenter's CRDs, and the CRDs that do not belong to a release of the chart karpenter-crd. */
export function ownedDefinitions(facts: Facts): { readonly all: number; readonly foreign: readonly string[] } {
  const names = [
    ...customResourceDefinitions().map(({ metadata }) => metadata.name),
    ...ALPHA_KINDS.map(([name]) => name),
  ];
  const present = names.map((name) => definitionIn(facts, name)).filter((found) => found !== undefined);
  const foreign = present.filter(
    ({ metadata }) =>
      own(metadata.labels, 'app.kubernetes.io/managed-by') !== 'Helm' ||
      own(metadata.annotations, 'meta.helm.sh/release-name') !== RELEASE,
  );
  return { all: present.length, foreign: foreign.map(({ metadata }) => metadata.name) };
}

/** Returns commands that assign CRDs to the release of the chart. */
export const adoptionCommands = (names: readonly string[], namespace: string): readonly string[] => [
  `kubectl label crd ${names.join(' ')} app.kubernetes.io/managed-by=Helm --overwrite`,
  `kubectl annotate crd ${names.join(' ')} meta.helm.sh/release-name=${RELEASE} meta.helm.sh/release-namespace=${namespace} --overwrite`,
];

/** Checks the ownership of CRDs, because the CRD chart adopts only CRDs with its own labels. */
function ownership(facts: Facts): readonly Item[] {
  const { all, foreign } = ownedDefinitions(facts);
  if (all === 0) return [];
  if (foreign.length === 0) return [ok('ownership of CRDs', `all belong to the Helm release ${RELEASE}`)];
  const namespace = facts.controllers[0]?.deployment.metadata.namespace ?? 'kube-system';
  return [
    todo(
      'ownership of CRDs',
      `${foreign.length} of ${all} do not belong to the Helm release ${RELEASE}, so Helm refuses to upgrade them. ` +
        'Do not delete a CRD to solve this, because its objects and their nodes would also be deleted',
      adoptionCommands(foreign, namespace).join(' && '),
    ),
  ];
}

function alphaItem(facts: Facts, name: string, kind: string): readonly Item[] {
  if (definitionIn(facts, name) === undefined) return [];
  const subject = `CRD ${name}`;
  const count = facts.of(kind).length;
  if (facts.notAsked(kind) !== undefined || count > 0)
    return [
      blocked(
        subject,
        `has ${facts.notAsked(kind) === undefined ? counted(count, 'object') : 'an unknown number of objects'}; deleting the CRD now deletes them and their nodes immediately`,
        `delete the nodes, then the ${pluralOf(kind)}, then run: kubectl delete crd ${name}`,
      ),
    ];
  return [todo(subject, 'has no objects', `kubectl delete crd ${name}`)];
}

function webhookItems(facts: Facts): readonly Item[] {
  const stage = stageIn(facts);
  return (['Mutating', 'Validating'] as const).flatMap((type) => {
    const kind = `${type}WebhookConfiguration`;
    return itemsOf(facts, { subject: `${type.toLowerCase()} webhooks`, kinds: [kind] }, () => {
      const found = facts.of(kind).filter(({ metadata }) => isOldWebhook(metadata.name));
      return found.map(({ metadata: { name } }) => {
        const next = `kubectl delete ${kind.toLowerCase()} ${name}`;
        const isServed = stage !== undefined && stage !== 'v1';
        return isServed
          ? blocked(
              `webhook ${name}`,
              'belongs to this version; 1.1 and later do not serve it',
              `after the upgrade, run: ${next}`,
            )
          : todo(
              `webhook ${name}`,
              'is not served any more, so writes of NodePools and EC2NodeClasses may be rejected',
              next,
            );
      });
    });
  });
}
