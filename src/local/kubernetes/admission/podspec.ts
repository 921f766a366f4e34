/** Checks of pod specs, in pods and in templates. */
import { compareQuantities } from '../../../api/quantity.ts';
import { isRecord, type Json, record, records, text } from '../json.ts';
import { type Cause, duplicate, invalidValue, required } from '../status.ts';
import { labelCauses } from './labels.ts';
import { labelNameError } from './names.ts';

/** @param path where the spec stands in its object */
export function podSpecCauses(spec: unknown, path: string): Cause[] {
  if (!isRecord(spec)) return [required(path)];
  const containers = records(spec.containers);
  if (containers.length === 0) return [required(`${path}.containers`)];
  const seen = new Set<string>();
  return [
    ...containers.flatMap((c, i) => containerCauses(c, `${path}.containers[${i}]`, seen)),
    ...records(spec.initContainers).flatMap((c, i) => containerCauses(c, `${path}.initContainers[${i}]`, seen)),
    ...labelCauses(spec.nodeSelector, `${path}.nodeSelector`),
  ];
}

function containerCauses(container: Json, path: string, seen: Set<string>): Cause[] {
  const name = text(container.name);
  const causes: Cause[] = [];
  const wrong = name === '' ? undefined : labelNameError(name);
  if (name === '') causes.push(required(`${path}.name`));
  else if (wrong) causes.push(invalidValue(`${path}.name`, name, wrong));
  else if (seen.has(name)) causes.push(duplicate(`${path}.name`, name));
  seen.add(name);
  if (text(container.image) === '') causes.push(required(`${path}.image`));
  return [...causes, ...resourceCauses(record(container.resources), `${path}.resources`)];
}

/** A request may not be above its limit. */
function resourceCauses(resources: Json, path: string): Cause[] {
  const limits = record(resources.limits);
  return Object.entries(record(resources.requests)).flatMap(([name, request]) => {
    const limit = limits[name];
    if (limit === undefined || compareQuantities(String(request), String(limit)) <= 0) return [];
    return [
      invalidValue(`${path}.requests`, request, `must be less than or equal to ${name} limit of ${String(limit)}`),
    ];
  });
}
