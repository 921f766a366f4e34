/** Objects of kinds other than Karpenter's are not decoded. This is fast, because most manifests are such objects. */
import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { unknownManifestFields, validateStored } from '../../../../src/cli/objects/stored.ts';
import { withinCpuTime } from '../../../support/cpu-time.ts';

describe('a manifest with a value that does not match a pattern', () => {
  it('is rejected with a value that matches, instead of the regular expression', () => {
    const object = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'a' },
      spec: {
        template: {
          spec: {
            expireAfter: '3 days',
            requirements: [],
            nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          },
        },
      },
    } as KubeObject;
    expect(() => validateStored({ object, where: 'document 1' })).toThrow(
      'document 1: spec.template.spec.expireAfter: Invalid value: "3 days": spec.template.spec.expireAfter must be a value such as "720h"',
    );
  });
});

describe('a manifest of another kind', () => {
  it('is read quickly in large numbers', () => {
    const manifests = Array.from({ length: 20_000 }, (_, at) => {
      const object: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${at}` } };
      return { object, where: `document ${at + 1}` };
    });
    // It takes a minute if the CRDs are built for each of them.
    withinCpuTime(10_000, () => {
      for (const manifest of manifests) expect(validateStored(manifest) === manifest.object).toBe(true);
      expect(unknownManifestFields(manifests)).toEqual([]);
    });
  });
});
