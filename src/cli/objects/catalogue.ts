/**
 * Reads instance types from the file of `--instance-types`, or from the operator, in the format of
 * `engine/instance-type-report.ts`.
 */
import { type InstanceTypeEntry, instanceTypeOf } from '#engine/explanations';
import type { InstanceType } from '#engine/model';
import type { Field } from '#lib';
import { checkExpressions, checkQuantities, fieldIn } from './check.ts';
import { readJson } from './text.ts';

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'];

function checkType(type: Field): void {
  type.at('name').text();
  checkExpressions(type.at('requirements').required(), OPERATORS);
  checkQuantities(type.at('capacity').required());
  if (type.at('cpuCredits').value !== undefined)
    for (const field of ['baseline', 'utilization', 'usdPerVcpuHour']) type.at('cpuCredits').at(field).number();
  for (const part of ['kubeReserved', 'systemReserved', 'evictionThreshold'])
    checkQuantities(type.at('overhead').at(part));
  for (const driver of type.at('volumeLimits').keys()) type.at('volumeLimits').at(driver).number();
  for (const offering of type.at('offerings').required().items()) {
    checkExpressions(offering.at('requirements').required(), OPERATORS);
    offering.at('price').number();
    for (const field of ['listPrice', 'spotRisk'])
      if (offering.at(field).value !== undefined) offering.at(field).number();
    for (const field of ['reason', 'until'])
      if (offering.at('outage').at(field).value !== undefined) offering.at('outage').at(field).text();
  }
}

export interface Catalogue {
  /** Instance types of most NodePools. */
  readonly instanceTypes: readonly InstanceType[];
  /** Instance types of NodePools with different types, by NodePool name. */
  readonly nodePools: ReadonlyMap<string, readonly InstanceType[]>;
}

/** @throws InputError with the position of the type and the field */
export function catalogueIn(parsed: unknown, where: string): Catalogue {
  const root = fieldIn(where, parsed);
  const own = root.at('nodePools');
  return {
    instanceTypes: typesIn(root.at('instanceTypes').required()),
    nodePools: new Map(own.keys().map((name) => [name, typesIn(own.at(name))])),
  };
}

const typesIn = (list: Field): readonly InstanceType[] =>
  list.items().map((type) => {
    checkType(type);
    return instanceTypeOf(type.value as InstanceTypeEntry);
  });

/** @throws InputError with the file, the position of the type and the field */
export const readCatalogue = (file: string): Catalogue => catalogueIn(readJson(file), file);
