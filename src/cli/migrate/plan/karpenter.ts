/** From any version of Karpenter: one version after the other, then this operator. */
import type { Facts } from '../facts.ts';
import { type Hop, parseVersion, pathFrom, type Stage, stageOf } from '../versions.ts';
import { alphaSteps } from './alpha.ts';
import type { Found } from './found.ts';
import type { Step } from './step.ts';
import { takeoverSteps } from './takeover.ts';

const REPOSITORY = 'oci://public.ecr.aws/karpenter';

/** @throws Error when the version is not known: no way can be said then */
export function karpenterSteps(found: Found): readonly Step[] {
  const text = found.controller?.version ?? '';
  const version = parseVersion(text);
  // Provisioners without a controller that still reads them begin where they were read
  if (version === undefined && found.provisioners.length === 0)
    throw new Error(
      `the version of Karpenter is not known, its image says "${text}"; run it by a tag that is a version, then ask again`,
    );
  const start = version ?? { major: 0, minor: 31, patch: 0 };
  const hops = pathFrom(start);
  const isAlpha = ['alpha', 'both'].includes(stageOf(start));
  const steps = [keepStep(found, isAlpha), lookStep()];
  let before: Stage = stageOf(start);
  if (before === 'both') steps.push(...alphaSteps(found));
  for (const hop of hops) {
    steps.push(...hopSteps(found, hop, before));
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

function keepStep({ facts, release, namespace }: Found, isAlpha: boolean): Step {
  const kinds = kindsOf(facts);
  return {
    title: 'Keep what there is',
    text: [
      'These files are what every step back starts from. They hold user data: keep them where others do not read them.',
      ...(isAlpha ? ['The revision that helm history shows is the one to go back to.'] : []),
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

const lookStep = (): Step => ({
  title: 'See what stands in the way',
  text: [
    'What it calls to do in the parts CUSTOM RESOURCES (drift above all) and WORKLOADS is done now: a version is not changed in the middle of replacements.',
  ],
  commands: ['karpenter migrate status'],
  check: [
    'kubectl get poddisruptionbudgets -A: none that has ALLOWED DISRUPTIONS 0 for good, or nodes cannot be drained',
  ],
});

/** What the rights of a version are beyond those of the one before. */
const RIGHTS: Readonly<Record<Stage, readonly string[]>> = {
  alpha: [],
  both: [
    'iam:CreateInstanceProfile, TagInstanceProfile, AddRoleToInstanceProfile, RemoveRoleFromInstanceProfile, DeleteInstanceProfile and GetInstanceProfile: the controller makes instance profiles itself',
    'conditions on the tag karpenter.sh/nodepool beside those on karpenter.sh/provisioner-name, as long as both are in use',
    'ec2:CreateTags on instances for karpenter.sh/nodeclaim and Name',
  ],
  beta: ['ec2:RunInstances and ec2:CreateTags on spot-instances-request'],
  conversion: ['conditions on the tag eks:eks-cluster-name'],
  v1: [
    'iam:ListInstanceProfiles, ec2:DescribeCapacityReservations, ec2:DescribePlacementGroups, ec2:DescribeInstanceStatus',
  ],
};

const isConverting = (stage: Stage): boolean => stage === 'beta' || stage === 'conversion';

function hopSteps(found: Found, hop: Hop, before: Stage): readonly Step[] {
  const [crds, iam, chart] = [crdStep(found, hop, before), iamStep(found, hop), chartStep(found, hop)];
  // reads fail between CRDs without conversion and a controller that expects it
  return hop.stage === 'v1' ? [iam, crds, chart] : [crds, iam, chart];
}

function crdStep({ facts, namespace }: Found, { version, chart, stage }: Hop, before: Stage): Step {
  const names = facts.of('CustomResourceDefinition').map(({ metadata }) => metadata.name);
  const webhook = ` --set webhook.enabled=true --set webhook.serviceName=karpenter --set webhook.serviceNamespace=${namespace} --set webhook.port=8443`;
  const warnings = [
    'Never delete a CRD to let a chart own it: all of its objects are deleted with it, and their nodes end at once.',
    ...(stage === 'beta' && ['alpha', 'both'].includes(before)
      ? [
          'The chart of this version has no alpha CRDs any more, and removes them. With a Provisioner or a Machine left, its nodes go: kubectl get provisioners,machines shows none.',
        ]
      : []),
    ...(stage === 'v1'
      ? [
          'The CRDs of this version convert nothing: status.storedVersions of all three is ["v1"] before, and the chart follows at once.',
        ]
      : []),
  ];
  return {
    title: `Karpenter ${version}: CRDs`,
    text: ['Helm never upgrades the CRDs of the main chart; the chart karpenter-crd does, once it owns them.'],
    warnings,
    commands: [
      ...(names.length === 0 || isConverting(before)
        ? []
        : [
            `kubectl label crd ${names.join(' ')} app.kubernetes.io/managed-by=Helm --overwrite`,
            `kubectl annotate crd ${names.join(' ')} meta.helm.sh/release-name=karpenter-crd meta.helm.sh/release-namespace=${namespace} --overwrite`,
          ]),
      `helm upgrade --install karpenter-crd ${REPOSITORY}/karpenter-crd --version '${chart}' -n ${namespace}${isConverting(stage) ? webhook : ''}`,
    ],
    check: [
      'kubectl get crd nodepools.karpenter.sh ec2nodeclasses.karpenter.k8s.aws nodeclaims.karpenter.sh',
      ...(stage === 'v1'
        ? [`kubectl get crd nodepools.karpenter.sh -o jsonpath='{.spec.conversion.strategy}': None`]
        : []),
    ],
    back: [
      stage === 'v1'
        ? `helm upgrade karpenter-crd ${REPOSITORY}/karpenter-crd --version '~1.0.0' -n ${namespace}${webhook}, after the controller of 1.0 runs again`
        : 'leave them: they serve the version before as well',
    ],
  };
}

function iamStep({ namespace, controller }: Found, { version, stage }: Hop): Step {
  const account = (controller?.deployment.spec.template.spec as { serviceAccountName?: string } | undefined)
    ?.serviceAccountName;
  return {
    title: `Karpenter ${version}: rights in AWS`,
    text: [
      `The role of the controller gets the rights of this version beside those that it has: ${RIGHTS[stage].join('; ')}.`,
      'Attach the policy of that version as one more; the old ones go at the very end, so that every step back finds its rights.',
      ...(stage === 'v1' ? ['karpenter convert iam writes the policies of today from the one that you have.'] : []),
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
    check: ['karpenter doctor names no right of this version as missing'],
    back: ['detach the policy that was added, when the version is gone'],
  };
}

function chartStep({ release, namespace, facts }: Found, { version, chart, stage }: Hop): Step {
  const isSettled = stage === 'beta' || stage === 'v1';
  const flags = isConverting(stage) ? ' --set webhook.enabled=true' : '';
  const settings = facts.of('ConfigMap').filter(({ metadata }) => metadata.name === 'karpenter-global-settings');
  return {
    title: `Karpenter ${version}: chart`,
    text: [
      ...(stage === 'both'
        ? [
            'settings.aws.* work for the last time.',
            'The feature gate Drift is closed by default; it replaces old nodes one by one.',
          ]
        : []),
      ...(stage === 'beta'
        ? [
            'settings.aws.* are settings.* now, and some have gone: compare values.yaml with what karpenter convert values makes of it (the names of this version and of today are the same for those).',
          ]
        : []),
      ...(stage === 'conversion'
        ? ['v1 is stored from now on, and v1beta1 converted. Expiration drains at once, and waits for no replacement.']
        : []),
      ...(stage === 'v1' ? ['The webhooks are gone; the metrics port is 8080.'] : []),
    ],
    commands: [
      ...(isSettled ? ['karpenter convert values -f values.yaml -o values-new.yaml'] : []),
      `helm upgrade ${release} ${REPOSITORY}/karpenter --version '${chart}' -n ${namespace} --reset-values -f ${isSettled ? 'values-new.yaml' : 'values.yaml'} --skip-crds${flags}${stage === 'both' ? ' --set settings.featureGates.drift=true' : ''}`,
      `kubectl rollout status deployment/${release} -n ${namespace} --timeout=180s`,
      ...(stage === 'beta'
        ? settings.map(({ metadata }) => `kubectl delete configmap ${metadata.name} -n ${metadata.namespace}`)
        : []),
      ...(stage === 'v1'
        ? facts
            .of('MutatingWebhookConfiguration')
            .concat(facts.of('ValidatingWebhookConfiguration'))
            .map(({ kind, metadata }) => `kubectl delete ${kind.toLowerCase()} ${metadata.name}`)
        : []),
    ],
    check: [
      `kubectl logs -n ${namespace} -l app.kubernetes.io/name=karpenter --tail=50: no errors`,
      stage === 'both'
        ? 'kubectl get machines: the same as before'
        : 'kubectl get nodeclaims: the same as before, none newly drifted',
      ...(stage === 'conversion'
        ? [
            `kubectl get crd nodepools.karpenter.sh -o jsonpath='{.status.storedVersions}': v1, after the controller has rewritten the objects`,
          ]
        : []),
    ],
    back: [
      `helm rollback ${release} -n ${namespace}`,
      ...(stage === 'both' ? ['of the versions before, only 0.31.4 bears with beta objects: go back to that'] : []),
      ...(stage === 'conversion'
        ? [
            'to the last patch of the version before alone (0.33.12, 0.34.13, 0.35.12, 0.36.9, 0.37.7), with webhooks; fields that only v1 has are lost',
          ]
        : []),
      ...(stage === 'v1' ? ['to 1.0, the controller first, then its CRDs: v1 objects are readable there'] : []),
    ],
  };
}

/** Once 1.0 serves v1 and stores it. */
const manifestStep = ({ pools, nodeClasses }: Found): Step => ({
  title: 'Manifests of v1',
  text: [
    'Every manifest becomes v1, in the repository that it comes from as well, workloads among them: annotations, tolerations, selectors.',
    ...(pools.length > 0
      ? [`NodePools: ${pools.join(', ')}; EC2NodeClasses: ${nodeClasses.join(', ') || 'none'}.`]
      : []),
    'A kubelet block moves from the NodePool to its EC2NodeClass. If it is the same there, no node drifts.',
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
    'kubectl get nodepools,ec2nodeclasses: all READY',
    'karpenter migrate status: nothing to do under CUSTOM RESOURCES and WORKLOADS, storedVersions of all three CRDs only v1',
  ],
  back: ['before a rollback below 1.0, put the annotations back: before.yaml has them'],
});

const cleanUp = (isAlpha: boolean): Step => ({
  title: 'Clean up',
  text: ['When you do not want to go back any more.'],
  commands: [],
  check: [
    'the policies of older versions are detached from the role of the controller and deleted',
    ...(isAlpha
      ? ['the instance profile of the alpha version (defaultInstanceProfile) is deleted: no instance uses it']
      : []),
    'karpenter migrate status ends with 0',
  ],
});
