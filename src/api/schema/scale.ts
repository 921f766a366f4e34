/** Checks that the replica counts of the scale subresource are valid numbers. */

import { isObject } from '../../lib/json-object.ts';
import { own } from '../../lib/own.ts';
import { type Cause, invalid } from './cause.ts';

/** `subresources.scale` of a CustomResourceDefinition. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath?: string;
}

const MAX_INT32 = 2 ** 31 - 1;

/** Returns the errors of replica counts. Writes of the status do not check the desired count. */
export const scaleFaults = (
  { specReplicasPath, statusReplicasPath }: ScalePaths,
  object: unknown,
  part: 'status' | undefined,
): Cause[] => [
  ...(part === 'status' ? [] : faultsAt(specReplicasPath, object)),
  ...(statusReplicasPath === undefined ? [] : faultsAt(statusReplicasPath, object)),
];

function faultsAt(path: string, object: unknown): Cause[] {
  const accessorFault = (value: unknown, expected: string): Cause[] => [
    invalid(
      path,
      0,
      `${path} accessor error: ${formatValue(value)} is of the type ${goType(value)}, expected ${expected}`,
    ),
  ];
  let value = object;
  for (const key of path.split('.').filter((part) => part !== '')) {
    if (value === undefined || value === null) return [];
    if (!isObject(value)) return accessorFault(value, 'map[string]interface{}');
    value = own(value, key);
  }
  if (value === undefined) return [];
  if (typeof value !== 'number' || !Number.isInteger(value)) return accessorFault(value, 'int64');
  if (value < 0) return [invalid(path, value, 'should be a non-negative integer')];
  return value > MAX_INT32 ? [invalid(path, value, `should be less than or equal to ${MAX_INT32}`)] : [];
}

const formatValue = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value));

function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  if (value === null) return '<nil>';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
