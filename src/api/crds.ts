/** CustomResourceDefinitions of all kinds that users write. */

import { defined, isObject } from '#lib';
import { CAPACITY_BUFFER_DECLARATION } from './capacity-buffer.ts';
import { CAPACITY_QUOTA_DECLARATION } from './capacity-quota.ts';
import { EC2_NODE_CLASS_DECLARATION } from './ec2-nodeclass.ts';
import { NODE_CLAIM_DECLARATION } from './nodeclaim.ts';
import { NODE_OVERLAY_DECLARATION } from './nodeoverlay.ts';
import { NODE_POLICY_DECLARATION } from './nodepolicy.ts';
import { NODE_POOL_DECLARATION } from './nodepool.ts';
import { PROVISIONING_REQUEST_DECLARATION } from './provisioning-request.ts';
import type { OpenApiSchema } from './schema/openapi.ts';
import type { ResourceDeclaration } from './schema/resource.ts';

export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: {
      readonly categories: readonly string[];
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly shortNames?: readonly string[];
      readonly singular: string;
    };
    readonly scope: 'Cluster' | 'Namespaced';
    readonly versions: readonly CustomResourceVersion[];
  };
}

interface CustomResourceVersion {
  readonly name: string;
  readonly served: true;
  readonly storage: boolean;
  readonly deprecated?: true;
  readonly deprecationWarning?: string;
  readonly additionalPrinterColumns: readonly {
    readonly jsonPath: string;
    readonly name: string;
    readonly priority?: number;
    readonly type: string;
  }[];
  readonly schema: { readonly openAPIV3Schema: OpenApiSchema };
  readonly subresources: {
    readonly status: Record<string, never>;
    readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string };
  };
}

export const DECLARATIONS: readonly ResourceDeclaration[] = [
  NODE_POOL_DECLARATION,
  NODE_CLAIM_DECLARATION,
  EC2_NODE_CLASS_DECLARATION,
  NODE_OVERLAY_DECLARATION,
  NODE_POLICY_DECLARATION,
  CAPACITY_BUFFER_DECLARATION,
  CAPACITY_QUOTA_DECLARATION,
  PROVISIONING_REQUEST_DECLARATION,
];

/** Returns all definitions as plain JSON, ready to be created in a cluster. */
export const customResourceDefinitions = (): readonly CustomResourceDefinition[] => DECLARATIONS.map(definitionOf);

/**
 * Returns the definition of one kind, or undefined for an unknown kind. Does not build the other definitions, because each
 * takes a millisecond.
 */
export function customResourceDefinition(kind: string): CustomResourceDefinition | undefined {
  const declaration = DECLARATIONS.find((each) => each.kind === kind);
  return declaration && definitionOf(declaration);
}

const definitionOf = (resource: ResourceDeclaration): CustomResourceDefinition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${resource.plural}.${resource.group}` },
  spec: {
    group: resource.group,
    names: {
      categories: [resource.category],
      kind: resource.kind,
      listKind: `${resource.kind}List`,
      plural: resource.plural,
      ...defined({ shortNames: resource.shortNames }),
      singular: resource.singular,
    },
    scope: resource.scope,
    versions: [
      versionOf(resource, { name: resource.version, storage: true }),
      ...(resource.deprecatedVersions ?? []).map(({ name, warning: deprecationWarning }) =>
        versionOf(resource, { name, storage: false, deprecated: true, deprecationWarning }),
      ),
    ],
  },
});

const versionOf = (
  resource: ResourceDeclaration,
  {
    name: version,
    storage,
    ...deprecation
  }: Omit<CustomResourceVersion, 'served' | 'additionalPrinterColumns' | 'schema' | 'subresources'>,
): CustomResourceVersion => ({
  name: version,
  served: true,
  storage,
  ...deprecation,
  additionalPrinterColumns: resource.columns.map(({ name, type, jsonPath, priority }) => ({
    jsonPath,
    name,
    ...defined({ priority }),
    type,
  })),
  schema: { openAPIV3Schema: objectSchema(resource) },
  subresources: { status: {}, ...defined({ scale: resource.scale }) },
});

const objectSchema = ({ description, spec, status, specMayBeAbsent }: ResourceDeclaration): OpenApiSchema =>
  plainJson({
    description,
    type: 'object',
    properties: {
      apiVersion: { description: 'Version of the schema of this object.', type: 'string' },
      kind: { description: 'Kind of this object.', type: 'string' },
      metadata: { type: 'object' },
      spec,
      status,
    },
    ...(!specMayBeAbsent && { required: ['spec'] }),
  });

/** Order of the first keywords of a schema, for readability. Further keywords follow in their original order. */
const KEYWORDS = ['description', 'type', 'format', 'default', 'enum', 'items', 'properties', 'required'];

/** Returns a schema with sorted keywords and without internal data of the schema builder. */
const plainJson = (schema: unknown): OpenApiSchema =>
  JSON.parse(JSON.stringify(schema), (_key, value: unknown) =>
    isObject(value) && typeof value.type === 'string' ? sortedKeywords(value) : value,
  ) as OpenApiSchema;

function sortedKeywords(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const rank = (key: string): number => (KEYWORDS.includes(key) ? KEYWORDS.indexOf(key) : KEYWORDS.length);
  return Object.fromEntries(Object.entries(schema).sort(([left], [right]) => rank(left) - rank(right)));
}
