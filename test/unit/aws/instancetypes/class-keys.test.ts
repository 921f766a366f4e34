/** The fields of a NodeClass that determine its instance types and their offerings. */
import { expect, it } from '@jest/globals';
import type { EC2NodeClass } from '#api/objects';
import { classKey, offeringKey } from '../../../../src/aws/instancetypes/class-keys.ts';
import { nodeClassOf } from '../../../support/awsobjects.ts';

it.each<Partial<EC2NodeClass['spec']>>([
  { cpuOptions: { nestedVirtualization: 'enabled' } },
  { connectionTracking: { udpTimeout: 30 } },
  { ipPrefixCount: 3 },
])('distinguishes NodeClasses by content and not by object identity: %j', (said) => {
  const nodeClass = nodeClassOf('a') as EC2NodeClass;
  const other: EC2NodeClass = { ...nodeClass, spec: { ...nodeClass.spec, ...said } };
  expect(offeringKey({ ...nodeClass })).toBe(offeringKey(nodeClass));
  expect(offeringKey(other)).not.toBe(offeringKey(nodeClass));
  expect(classKey(other)).toBe(classKey(nodeClass)); // The types are the same, but their offerings differ.
});
