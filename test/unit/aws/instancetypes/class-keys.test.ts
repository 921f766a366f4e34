/** What of a NodeClass decides on its instance types, and on their offerings. */
import { expect, it } from '@jest/globals';
import type { EC2NodeClass } from '../../../../src/api/ec2-nodeclass.ts';
import { classKey, offeringKey } from '../../../../src/aws/instancetypes/class-keys.ts';
import { nodeClassOf } from '../../../support/awsobjects.ts';

it('tells NodeClasses apart by what they say, not by which object says it', () => {
  const nodeClass = nodeClassOf('a') as EC2NodeClass;
  const other = { ...nodeClass, spec: { ...nodeClass.spec, cpuOptions: { coreCount: 1 } } } as unknown as EC2NodeClass;
  expect(offeringKey({ ...nodeClass })).toBe(offeringKey(nodeClass));
  expect(offeringKey(other)).not.toBe(offeringKey(nodeClass));
  expect(classKey(other)).toBe(classKey(nodeClass)); // the types are the same: their offerings are not
});
