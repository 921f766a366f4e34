/** Objects of kinds that are not the product's own are taken as they are, at no cost: most manifests are such. */
import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../../../src/api/kubernetes.ts';
import { stored, unknownFields } from '../../../../src/cli/objects/stored.ts';
import { withinCpuTime } from '../../../support/cpu-time.ts';

describe('manifests of kinds of others', () => {
  it('are read by the ten thousand', () => {
    const manifests = Array.from({ length: 20_000 }, (_, at) => {
      const object: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${at}` } };
      return { object, where: `document ${at + 1}` };
    });
    // a minute if the definitions are made for each of them
    withinCpuTime(10_000, () => {
      for (const manifest of manifests) expect(stored(manifest) === manifest.object).toBe(true);
      expect(unknownFields(manifests)).toEqual([]);
    });
  });
});
