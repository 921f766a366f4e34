/**
 * Rules for custom resources in a redacted snapshot, derived from their schemas. Kinds and versions before v1 have no schema
 * here; this file lists their fields.
 */

import { CONDITION, type Keep, OBJECT_REFERENCE, RESOURCES, SELECTOR_REQUIREMENT, TAINT } from '#api/objects';
import { DECLARATIONS, type OpenApiSchema } from '#api/schema';
import { kubeletFields } from '#aws/node-classes';
import { isObject } from '#lib';
import { merged } from './keep.ts';

/** Kubelet fields that may contain a password: a URL, and the headers of its requests. */
const KUBELET: Keep = merged(kubeletFields(), {
  staticPodURL: 'digest',
  staticPodURLHeader: 'digest',
  tracing: { endpoint: 'digest' },
});

/** Objects with an open schema, by path. */
const OPEN: Readonly<Record<string, Keep>> = { 'EC2NodeClass.spec.kubelet': KUBELET };

/**
 * Returns the rule that keeps the fields of a schema.
 *
 * @throws Error if the schema of an object in it is open
 */
export function keepOf(schema: OpenApiSchema, path: string): Keep {
  const known = OPEN[path];
  if (known !== undefined) return known;
  if (schema.items !== undefined) return keepOf(schema.items, path);
  if (schema.properties !== undefined)
    return Object.fromEntries(
      Object.entries(schema.properties).map(([field, inner]) => [field, keepOf(inner, `${path}.${field}`)]),
    );
  if (isObject(schema.additionalProperties) && keepOf(schema.additionalProperties, `${path}.*`) === true) return 'map';
  if (schema.type !== 'object' && schema.additionalProperties === undefined && !isOpen(schema)) return true;
  throw new Error(`Cannot keep ${path} in a snapshot because its schema is open; list its fields in own-kinds.ts`);
}

const isOpen = (schema: OpenApiSchema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

/** Returns the rules by `apiVersion kind`. */
function declaredRules(): Record<string, Keep> {
  return Object.fromEntries(
    DECLARATIONS.map(({ group, version, kind, spec, status }) => [
      `${group}/${version} ${kind}`,
      {
        spec: keepOf(spec as unknown as OpenApiSchema, `${kind}.spec`),
        status: keepOf(status as unknown as OpenApiSchema, `${kind}.status`),
      },
    ]),
  );
}

const AFTER_V1_ALPHA: Keep = { ...(KUBELET as object), containerRuntime: true };
const BETA_SPEC: Keep = { kubelet: AFTER_V1_ALPHA, nodeClassRef: OBJECT_REFERENCE };
const REQUIREMENTS: Keep = { ...SELECTOR_REQUIREMENT, minValues: true };

function older(v1: Readonly<Record<string, Keep>>): Record<string, Keep> {
  const [pool, claim, nodeClass] = [
    'karpenter.sh/v1 NodePool',
    'karpenter.sh/v1 NodeClaim',
    'karpenter.k8s.aws/v1 EC2NodeClass',
  ].map((name) => v1[name] ?? false);
  const aws = awsSpec(nodeClass ?? false);
  return {
    'karpenter.sh/v1beta1 NodePool': merged(pool ?? false, {
      spec: { template: { spec: BETA_SPEC }, disruption: { expireAfter: true } },
    }),
    'karpenter.sh/v1beta1 NodeClaim': merged(claim ?? false, { spec: BETA_SPEC }),
    'karpenter.k8s.aws/v1beta1 EC2NodeClass': nodeClass ?? false,
    'karpenter.sh/v1alpha5 Provisioner': {
      spec: {
        annotations: 'map',
        labels: 'map',
        taints: TAINT,
        startupTaints: TAINT,
        requirements: REQUIREMENTS,
        kubeletConfiguration: AFTER_V1_ALPHA,
        provider: { apiVersion: true, kind: true, ...(aws as object) },
        providerRef: OBJECT_REFERENCE,
        ttlSecondsAfterEmpty: true,
        ttlSecondsUntilExpired: true,
        limits: { resources: 'map' },
        weight: true,
        consolidation: { enabled: true },
      },
      status: { conditions: CONDITION, lastScaleTime: true, resources: 'map' },
    },
    'karpenter.sh/v1alpha5 Machine': {
      spec: {
        taints: TAINT,
        startupTaints: TAINT,
        requirements: REQUIREMENTS,
        resources: RESOURCES,
        kubelet: AFTER_V1_ALPHA,
        machineTemplateRef: OBJECT_REFERENCE,
      },
      status: { nodeName: true, providerID: true, capacity: 'map', allocatable: 'map', conditions: CONDITION },
    },
    'karpenter.k8s.aws/v1alpha1 AWSNodeTemplate': {
      spec: aws,
      status: {
        subnets: { id: true, zone: true },
        securityGroups: { id: true, name: true },
        amis: { id: true, name: true, requirements: REQUIREMENTS },
        conditions: CONDITION,
      },
    },
  };
}

/** Fields that AWSNodeTemplates and EC2NodeClasses share. */
const FIELDS_OF_AWS = [
  'userData',
  'context',
  'amiFamily',
  'instanceProfile',
  'metadataOptions',
  'blockDeviceMappings',
  'detailedMonitoring',
];

/** Returns the rule for an AWSNodeTemplate and for the inline provider of a Provisioner. */
function awsSpec(nodeClass: Keep): Keep {
  const { spec } = nodeClass as { readonly spec: { readonly [field: string]: Keep } };
  return {
    ...Object.fromEntries(FIELDS_OF_AWS.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]]))),
    tags: spec.tags ?? 'map',
    associatePublicIPAddress: true,
    launchTemplate: true,
    amiSelector: 'map',
    subnetSelector: 'map',
    securityGroupSelector: 'map',
    instanceTypes: true,
  };
}

let rules: Readonly<Record<string, Keep>> | undefined;

/** Returns the rules by `apiVersion kind`. Creates them on first use. */
export function ownKinds(): Readonly<Record<string, Keep>> {
  if (rules === undefined) {
    const v1 = declaredRules();
    rules = { ...v1, ...older(v1) };
  }
  return rules;
}
