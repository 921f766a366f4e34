/** Rules of a snapshot. They keep no object with arbitrary keys. */
import { describe, expect, it } from '@jest/globals';
import { KEPT_DEVICE_FIELDS } from '#api/devices';
import { KEPT_FIELDS, type Keep, type KubeObject, METADATA } from '#api/objects';
import { customResourceDefinitions, type OpenApiSchema } from '#api/schema';
import { redactAlike } from '../../../../src/cli/objects/redaction.ts';
import { kept } from '../../../../src/cli/snapshot/keep.ts';
import { keepOf, ownKinds } from '../../../../src/cli/snapshot/own-kinds.ts';
import { Redactor } from '../../../../src/cli/snapshot/redact.ts';
import { partial } from '../../../support/partial.ts';
import { SECRET } from './secrets.ts';

/** Deeper than any rule, with an object and a list of objects below each key. */
const nested = { field: SECRET, object: { token: SECRET }, list: [{ token: SECRET }] };

/** Reviewed maps of scalars with user-defined keys: quantities, labels, selectors and tags. */
const MAPS =
  /(^|\.)(labels|matchLabels|nodeSelector|selector|requests|limits|capacity|allocatable|overhead|allocatedResources|consumedCapacity|resources|tags|annotations|subnetSelector|securityGroupSelector|amiSelector|(cpu|topology)ManagerPolicyOptions|qosReserved|evictionHard|evictionSoft|evictionSoftGracePeriod|evictionMinimumReclaim|systemReserved|kubeReserved|featureGates|parameters|provisioningClassDetails)$/;

function* walk(keep: Keep, path: string): Generator<readonly [path: string, keep: Keep]> {
  yield [path, keep];
  if (typeof keep === 'object')
    for (const [field, inner] of Object.entries(keep)) yield* walk(inner, `${path}.${field}`);
}

const rules: readonly (readonly [string, Keep])[] = [
  ...walk(METADATA, 'metadata'),
  ...Object.entries({ ...KEPT_FIELDS, ...KEPT_DEVICE_FIELDS, ...ownKinds() }).flatMap(([kind, keep]) => [
    ...walk(keep, kind),
  ]),
];

describe('a rule of a snapshot', () => {
  it('keeps objects only by their fields', () => {
    expect(rules.length).toBeGreaterThan(300);
    const open = rules.filter(
      ([, keep]) => JSON.stringify(kept(nested, keep) ?? {}).includes('token') && keep !== 'digest',
    );
    expect(open).toEqual([]);
    for (const [, keep] of rules) if (keep === true) expect(kept([nested], keep)).toEqual([]);
  });

  it('keeps only known maps of scalars', () => {
    const maps = rules.filter(([, keep]) => keep === 'map').map(([path]) => path);
    expect(maps.filter((path) => !MAPS.test(path))).toEqual([]);
    for (const [, keep] of rules)
      if (keep === 'map') expect(kept({ ...nested, cpu: '1' }, keep)).toEqual({ field: SECRET, cpu: '1', list: [] });
  });

  it('removes scalars that may contain a secret', () => {
    const condition = { type: 'Ready', message: SECRET };
    expect(kept({ status: { conditions: [condition] } }, KEPT_FIELDS.Pod ?? false)).toEqual({
      status: { conditions: [{ type: 'Ready' }] },
    });
  });

  it('contains no text under a digest', () => {
    for (const [, keep] of rules)
      if (keep === 'digest') expect(JSON.stringify(kept(nested, keep))).not.toContain(SECRET);
  });

  it('rejects a schema with an arbitrary object', () => {
    const open: OpenApiSchema = {
      type: 'object',
      additionalProperties: { 'x-kubernetes-preserve-unknown-fields': true },
    };
    expect(() => keepOf({ type: 'object', properties: { spec: open } }, 'Kind')).toThrow(
      'Cannot keep Kind.spec.* in a snapshot',
    );
    expect(() => keepOf({ type: 'object' }, 'Kind')).toThrow('its schema is open');
    const maps: OpenApiSchema = {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
    };
    expect(() => keepOf(maps, 'Kind')).toThrow('its schema is open');
  });

  it('covers every field of the custom resources', () => {
    const paths = new Set(rules.map(([path]) => path.replace(/^\S+ /, '')));
    const missing: string[] = [];
    const look = (schema: OpenApiSchema, path: string): void => {
      if (path === 'EC2NodeClass.spec.kubelet') return;
      if (!paths.has(path) && /\.(spec|status)/.test(path)) missing.push(path);
      if (schema.items) look(schema.items, path);
      for (const [field, inner] of Object.entries(schema.properties ?? {})) look(inner, `${path}.${field}`);
    };
    for (const { spec } of customResourceDefinitions())
      for (const { schema } of spec.versions) look(schema.openAPIV3Schema, spec.names.kind);
    expect(missing).toEqual([]);
  });
});

describe('the kubelet of an EC2NodeClass', () => {
  const withKubelet = (kubelet: object): KubeObject =>
    partial({ apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name: 'x' }, spec: { kubelet } });
  const kubeletOf = (object: KubeObject) =>
    (object as unknown as { spec: { kubelet: Record<string, unknown> } }).spec.kubelet;
  const header = { Authorization: ['Bearer abc'] };

  it('keeps settings that affect decisions, and replaces possible passwords by digests', () => {
    const kubelet = {
      maxPods: 'vcpus * 4',
      evictionHard: { 'memory.available': '5%' },
      staticPodURLHeader: header,
      other: 'x',
    };
    expect(kubeletOf(new Redactor().redacted(withKubelet(kubelet)))).toEqual({
      maxPods: 'vcpus * 4',
      evictionHard: { 'memory.available': '5%' },
      staticPodURLHeader: { Authorization: [expect.stringMatching(/^redacted-[0-9a-f]{8}$/)] },
    });
  });

  it('detects a different header in a manifest', () => {
    const before = new Redactor().redacted(withKubelet({ staticPodURLHeader: header }));
    const same = redactAlike(before, withKubelet({ staticPodURLHeader: header }));
    expect(kubeletOf(same)).toEqual(kubeletOf(before));
    const other = redactAlike(before, withKubelet({ staticPodURLHeader: { Authorization: ['Bearer other'] } }));
    expect(kubeletOf(other)).not.toEqual(kubeletOf(before));
    expect(JSON.stringify(other)).not.toContain('Bearer');
  });
});
