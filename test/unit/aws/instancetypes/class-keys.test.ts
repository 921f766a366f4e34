/** What of a NodeClass decides on its instance types, and on the list of them. */
import { expect, it } from '@jest/globals';
import type { EC2NodeClass } from '../../../../src/api/ec2-nodeclass.ts';
import { listKey } from '../../../../src/aws/instancetypes/class-keys.ts';
import { nodeClassOf } from '../../../support/awsobjects.ts';

it('tells lists apart by the NodeClass and by what is around it, whatever was asked before', () => {
  const nodeClass = nodeClassOf('a') as EC2NodeClass;
  const plain = listKey(nodeClass, [undefined, []]);
  const shifted = listKey(nodeClass, [undefined, ['usw2-az1']]);
  const grouped = listKey(nodeClass, [{ name: 'g' }, []]);
  expect(new Set([plain, shifted, grouped]).size).toBe(3);
  expect(listKey(nodeClass, [undefined, []])).toBe(plain);
  expect(listKey({ ...nodeClass }, [undefined, []])).toBe(plain);
  const other = { ...nodeClass, spec: { ...nodeClass.spec, cpuOptions: { coreCount: 1 } } } as unknown as EC2NodeClass;
  expect(listKey(other, [undefined, []])).not.toBe(plain);
});
