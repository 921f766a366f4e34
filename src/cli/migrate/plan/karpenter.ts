/** Plans the steps from any version of Karpenter: one version at a time, then this operator. */
import { isOldWebhook } from '#aws/leftovers';
import { ALPHA_KINDS, adoptionCommands, ownedDefinitions } from '../checks/kinds.ts';
import type { Facts } from '../facts.ts';
import { type ApiStage, type Hop, parseVersion, pathFrom, stageOf } from '../versions.ts';
import { alphaSteps } from './alpha.ts';
import type { Found } from './found.ts';
import type { MigrationStep } from './step.ts';

const REPOSITORY = 'oci://public.ecr.aws/karpenter';

/** @throws Error if the version is unknown, because no path can be planned */
export function karpenterSteps(found: Found): readonly MigrationStep[] {
  const text = found.controller?.version ?? '';
  const version = parseVersion(text);
  // if Provisioners exist without a controller, the path starts at the version that reads them
  if (version === undefined && found.provisioners.length === 0)
    throw new Error(
      `the version of Karpenter is unknown, because its image is "${text}"; use an image tag with a version, then run the command again`,
    );
  const start = version ?? { major: 0, minor: 31, patch: 0 };
  const hops = pathFrom(start);
  const isAlpha = ['alpha', 'both'].includes(stageOf(start));
  const steps = [keepStep(found, isAlpha), lookStep()];
  let before: ApiStage = stageOf(start);
  if (before === 'both') steps.push(...alphaSteps(found));
  for (const [at, hop] of hops.entries()) {
    steps.push(...hopSteps(found, hop, { before, isFirst: at === 0 }));
    if (hop.stage === 'both') steps.push(...alphaSteps(found));
    if (hop.stage === 'conversion') steps.push(manifestStep(found));
    before = hop.stage;
  }
  if (stageOf(start) === 'conversion') steps.splice(2, 0, manifestStep(found));
  return [...steps, ...takeoverSteps(found), cleanUp(isAlpha)];
}

const kindsOf = (facts: Facts): string =>
  [
    ['Provisioner', 'provisioners'],
    ['AWSNodeTemplate', 'awsnodetemplates'],
    ['Machine', 'machines'],
    ['NodePool', 'nodepools'],
    ['EC2NodeClass', 'ec2nodeclasses'],
    ['NodeClaim', 'nodeclaims'],
  ]
    .flatMap(([kind = '', plural = '']) => (facts.of(kind).length > 0 ? [plural] : []))
    .join(',');

function keepStep({ facts, release, namespace }: Found, isAlpha: boolean): MigrationStep {
  const kinds = kindsOf(facts);
  return {
    title: 'Save the current state',
    text: [
      'Each rollback needs these files. They contain user data, so store them in a protected place.',
      ...(isAlpha ? ['Roll back to the revision that helm history shows.'] : []),
    ],
    commands: [
      ...(kinds === '' ? [] : [`kubectl get ${kinds} -o yaml > before.yaml`]),
      `helm get values ${release} -n ${namespace} -o yaml > values.yaml`,
      `helm history ${release} -n ${namespace} --max 1`,
      'karpenter snapshot > now.yaml',
    ],
    check: ['before.yaml and values.yaml are not empty'],
  };
}

const lookStep = (): MigrationStep => ({
  title: 'Check for blockers',
  text: [
    'Resolve the findings marked TO DO under CUSTOM RESOURCES (especially drift) and WORKLOADS now. Do not change the version during replacements.',
  ],
  commands: ['karpenter migrate status'],
  check: [
    'kubectl get poddisruptionbudgets -A: none has ALLOWED DISRUPTIONS 0 permanently, because its nodes could not be drained',
  ],
});

/** Permissions that a version needs in addition to the version before it. */
const RIGHTS: Readonly<Record<ApiStage, readonly string[]>> = {
  alpha: [],
  both: [
    'iam:CreateInstanceProfile, TagInstanceProfile, AddRoleToInstanceProfile, RemoveRoleFromInstanceProfile, DeleteInstanceProfile and GetInstanceProfile: the controller creates instance profiles',
    'conditions on the tag karpenter.sh/nodepool in addition to karpenter.sh/provisioner-name, as long as both are in use',
    'ec2:CreateTags on instances for karpenter.sh/nodeclaim and Name',
  ],
  beta: ['ec2:RunInstances and ec2:CreateTags on spot-instances-request'],
  conversion: ['conditions on the tag eks:eks-cluster-name'],
  v1: [
    'iam:ListInstanceProfiles, ec2:DescribeCapacityReservations, ec2:DescribePlacementGroups, ec2:DescribeInstanceStatus',
  ],
};

const isConverting = (stage: ApiStage): boolean => stage === 'beta' || stage === 'conversion';

interface Place {
  /** API stage of the version before the hop. */
  readonly before: ApiStage;
  readonly isFirst: boolean;
}

function hopSteps(found: Found, hop: Hop, place: Place): readonly MigrationStep[] {
  const [crds, iam, chart] = [crdStep(found, hop, place), iamStep(found, hop), chartStep(found, hop, place)];
  // reads fail between the installation of CRDs without conversion and the upgrade of a controller that expects
  // conversion
  return hop.stage === 'v1' ? [iam, crds, chart] : [crds, iam, chart];
}

const CRD_STATE =
  "kubectl get crd nodepools.karpenter.sh nodeclaims.karpenter.sh ec2nodeclasses.karpenter.k8s.aws -o jsonpath='{.items[*].STATE}'";
const STORED = CRD_STATE.replace('STATE', 'status.storedVersions');

function crdStep(
  { facts, namespace }: Found,
  { version, chart, stage }: Hop,
  { before, isFirst }: Place,
): MigrationStep {
  const isAlpha = (name: string): boolean => ALPHA_KINDS.some(([alpha]) => alpha === name);
  const foreign = ownedDefinitions(facts).foreign.filter((name) => stage === 'both' || !isAlpha(name));
  const webhook = ` --set webhook.enabled=true --set webhook.serviceName=karpenter --set webhook.serviceNamespace=${namespace} --set webhook.port=8443`;
  const warnings = [
    'Never delete a CRD to change its owner, because all of its objects and their nodes would be deleted immediately.',
    ...(stage === 'beta' && ['alpha', 'both'].includes(before)
      ? [
          'The chart of this version removes the alpha CRDs. If a Provisioner or a Machine exists, its nodes are deleted. Make sure that kubectl get provisioners,machines is empty.',
        ]
      : []),
    ...(stage === 'v1'
      ? [
          'The CRDs of this version have no conversion. Continue only if the first command shows ["v1"] three times, and upgrade the chart immediately afterwards.',
        ]
      : []),
  ];
  return {
    title: `Karpenter ${version}: CRDs`,
    text: ['Helm never upgrades the CRDs of the main chart. The chart karpenter-crd upgrades them once it owns them.'],
    warnings,
    commands: [
      ...(stage === 'v1' ? [STORED] : []),
      ...(isFirst && foreign.length > 0 ? adoptionCommands(foreign, namespace) : []),
      `helm upgrade --install karpenter-crd ${REPOSITORY}/karpenter-crd --version '${chart}' -n ${namespace}${isConverting(stage) ? webhook : ''}`,
    ],
    check: [
      'kubectl get crd nodepools.karpenter.sh ec2nodeclasses.karpenter.k8s.aws nodeclaims.karpenter.sh',
      ...(stage === 'v1' ? [`${CRD_STATE.replace('STATE', 'spec.conversion.strategy')}: shows None three times`] : []),
    ],
    back: [
      stage === 'v1'
        ? `helm upgrade karpenter-crd ${REPOSITORY}/karpenter-crd --version '~1.0.0' -n ${namespace}${webhook}, after the controller of 1.0 is running again`
        : 'keep the CRDs, because they also serve the previous version',
    ],
  };
}

function iamStep({ namespace, controller }: Found, { version, stage }: Hop): MigrationStep {
  const account = (controller?.deployment.spec.template.spec as { serviceAccountName?: string } | undefined)
    ?.serviceAccountName;
  return {
    title: `Karpenter ${version}: permissions in AWS`,
    text: [
      `Add the permissions of this version to the role of the controller: ${RIGHTS[stage].join('; ')}.`,
      'Attach the policy of this version, from its guide or CloudFormation template, in addition to the old policies. Detach the old policies only at the end, so that each rollback has its permissions.',
      ...(stage === 'v1'
        ? [
            'karpenter convert iam converts your policy to the current policies. policy.json is the output of aws iam get-policy-version or get-role-policy.',
          ]
        : []),
    ],
    commands: [
      `kubectl get serviceaccount ${account ?? 'karpenter'} -n ${namespace} -o jsonpath='{.metadata.annotations.eks\\.amazonaws\\.com/role-arn}'`,
      ...(stage === 'v1' ? ['karpenter convert iam -f policy.json -o policies'] : []),
      ...(stage === 'both'
        ? [
            'aws iam create-service-linked-role --aws-service-name spot.amazonaws.com   # if spot is used; fails when it exists, which is fine',
          ]
        : []),
    ],
    check: ['the policy is attached: aws iam list-attached-role-policies --role-name ROLE'],
    back: ['detach the added policy after the rollback of the version'],
  };
}

/** Changes to consider before the chart of a version is installed. */
const NEWS: Readonly<Record<ApiStage, readonly string[]>> = {
  alpha: [],
  both: [
    'This is the last version that supports settings.aws.*.',
    'The feature gate Drift, which is disabled by default in this version, replaces the old nodes one at a time.',
  ],
  beta: [],
  conversion: [
    'From now on v1 is stored, and v1beta1 is converted. Expired nodes are drained immediately, without waiting for a replacement. Two replicas need nodes in two zones.',
  ],
  v1: ['The webhooks are removed. The metrics port is 8080.'],
};

const BACK: Readonly<Record<ApiStage, readonly string[]>> = {
  alpha: [],
  both: ['roll back to 0.31.4, because it is the only earlier version that accepts beta objects'],
  beta: [],
  conversion: [
    'only to the last patch of a beta version (0.33.12, 0.34.13, 0.35.12, 0.36.9, 0.37.7), with webhooks, the controller first, then the CRDs; fields that only v1 has are lost',
  ],
  v1: ['to 1.0, the controller first, then its CRDs; 1.0 can read v1 objects'],
};

function chartStep(found: Found, { version, chart, stage }: Hop, { before, isFirst }: Place): MigrationStep {
  const { release, namespace } = found;
  const makesValues = stage !== 'both' && (isFirst || before === 'both');
  const flags = isConverting(stage) ? ' --set webhook.enabled=true' : '';
  const drift = stage === 'both' ? ' --set settings.featureGates.drift=true' : '';
  const values = stage === 'both' ? 'values.yaml' : 'values-new.yaml';
  return {
    title: `Karpenter ${version}: chart`,
    text: [
      ...NEWS[stage],
      ...(makesValues
        ? ['karpenter convert values lists renamed and removed values. Review this list before you continue.']
        : []),
    ],
    commands: [
      ...(makesValues ? ['karpenter convert values -f values.yaml -o values-new.yaml'] : []),
      `helm upgrade ${release} ${REPOSITORY}/karpenter --version '${chart}' -n ${namespace} --reset-values -f ${values} --skip-crds${flags}${drift}`,
      `kubectl rollout status deployment/${release} -n ${namespace} --timeout=180s`,
      ...leftovers(found, stage),
    ],
    check: [
      `kubectl logs -n ${namespace} -l app.kubernetes.io/name=karpenter --tail=200: no errors, no UnauthorizedOperation, no AccessDenied`,
      stage === 'both' ? 'kubectl get machines: unchanged' : 'kubectl get nodeclaims: unchanged, and no new drift',
      ...(stage === 'conversion' ? [`${STORED}: only v1, after the controller has rewritten the objects`] : []),
    ],
    back: [`helm rollback ${release} -n ${namespace}`, ...BACK[stage]],
  };
}

/** Returns commands that remove leftovers of the version before. */
function leftovers({ facts }: Found, stage: ApiStage): readonly string[] {
  if (stage === 'beta')
    return facts
      .of('ConfigMap')
      .filter(({ metadata }) => metadata.name === 'karpenter-global-settings')
      .map(({ metadata }) => `kubectl delete configmap ${metadata.name} -n ${metadata.namespace}`);
  if (stage !== 'v1') return [];
  return ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'].flatMap((kind) =>
    facts
      .of(kind)
      .filter(({ metadata }) => isOldWebhook(metadata.name))
      .map(({ metadata }) => `kubectl delete ${kind.toLowerCase()} ${metadata.name}`),
  );
}

/** Converts manifests after 1.0 serves and stores v1. */
const manifestStep = ({ pools, nodeClasses }: Found): MigrationStep => ({
  title: 'Convert manifests to v1',
  text: [
    'Replace manifests with the folder or repository of your manifests. All manifests become v1, and workloads get the annotations, tolerations and selectors of v1.',
    ...(pools.length > 0
      ? [`NodePools: ${pools.join(', ')}; EC2NodeClasses: ${nodeClasses.join(', ') || 'none'}.`]
      : []),
    'A kubelet block moves from the NodePool to its EC2NodeClass. Nodes do not drift if the block is unchanged.',
  ],
  commands: [
    'karpenter convert -f manifests -R --diff',
    'karpenter convert -f manifests -R --in-place',
    'kubectl apply -f manifests -R',
    ...pools.map(
      (name) =>
        `kubectl annotate nodepool ${name} compatibility.karpenter.sh/v1beta1-kubelet-conversion- compatibility.karpenter.sh/v1beta1-nodeclass-reference-`,
    ),
  ],
  check: [
    'kubectl get nodepools,ec2nodeclasses: all are READY',
    'karpenter migrate status: no TO DO under CUSTOM RESOURCES and WORKLOADS, and storedVersions of all three CRDs is only v1',
  ],
  back: ['before a rollback below 1.0, restore the annotations from before.yaml'],
});

const cleanUp = (isAlpha: boolean): MigrationStep => ({
  title: 'Clean up',
  text: ['Clean up when you do not need a rollback any more.'],
  commands: [],
  check: [
    'the policies of older versions are detached from the role of the controller and deleted',
    ...(isAlpha
      ? ['the instance profile of the alpha version (defaultInstanceProfile) is deleted, after no instance uses it']
      : []),
    'karpenter migrate status exits with 0',
  ],
});

/** Plans the takeover of the Helm release of Karpenter 1.1 or later by this operator, a summary of docs/takeover.md. */
function takeoverSteps({ release, namespace, clusterName }: Found): readonly MigrationStep[] {
  return [
    {
      title: 'Check before the takeover',
      text: [
        'Custom resources, nodes and instances are not changed. See docs/takeover.md for the reasons and all commands.',
      ],
      commands: [
        `karpenter doctor --cluster-name ${clusterName}`,
        'kubectl get nodepools,ec2nodeclasses,nodeclaims -o yaml > before-takeover.yaml',
        'kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,UID:.metadata.uid,ID:.status.providerID > before.txt',
        `helm get values ${release} -n ${namespace} -o yaml > values.yaml   # remove controller.image from it`,
        `helm history ${release} -n ${namespace} --max 1   # the revision for a rollback`,
      ],
      check: ['karpenter doctor reports no errors'],
    },
    {
      title: 'Stop Karpenter and start the operator',
      text: ['Between both commands, no nodes are launched or removed, and pods that need a node stay pending.'],
      commands: [
        `kubectl scale deployment ${release} -n ${namespace} --replicas 0`,
        `kubectl wait --for=delete pod -l app.kubernetes.io/name=karpenter -n ${namespace} --timeout=120s`,
        `helm upgrade ${release} charts/karpenter -n ${namespace} --reset-values -f values.yaml --skip-crds --set settings.packing=compatible --set settings.consolidation=compatible --set controller.image.repository="$IMAGE"`,
        `kubectl rollout status deployment/${release} -n ${namespace} --timeout=120s`,
      ],
      check: [
        'kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,UID:.metadata.uid,ID:.status.providerID | diff before.txt -: no differences',
        'kubectl get nodepools,ec2nodeclasses: all are READY',
        `karpenter doctor --cluster-name ${clusterName}: no errors`,
      ],
      back: [
        `kubectl scale deployment ${release} -n ${namespace} --replicas 0, wait as above, then helm rollback ${release} REVISION -n ${namespace}`,
      ],
    },
  ];
}
