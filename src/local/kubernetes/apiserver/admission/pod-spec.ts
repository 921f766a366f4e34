/** Validation of pod specs, in pods and in templates. */

import { compareQuantities } from '../../../../api/quantity.ts';
import { own } from '../../../../lib/own.ts';
import { isRecord, type Json, record, records, text } from '../json.ts';
import { type Cause, duplicate, fieldForbidden, invalidValue, requiredValue } from '../status.ts';
import { labelCauses } from './labels.ts';
import { labelNameError } from './names.ts';

/** @param path path of the spec in its object */
export function podSpecCauses(spec: unknown, path: string): Cause[] {
  if (!isRecord(spec)) return [requiredValue(path)];
  const containers = records(spec.containers);
  if (containers.length === 0) return [requiredValue(`${path}.containers`)];
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
  if (name === '') causes.push(requiredValue(`${path}.name`));
  else if (wrong) causes.push(invalidValue(`${path}.name`, name, wrong));
  else if (seen.has(name)) causes.push(duplicate(`${path}.name`, name));
  seen.add(name);
  if (text(container.image) === '') causes.push(requiredValue(`${path}.image`));
  return [...causes, ...resourceCauses(record(container.resources), `${path}.resources`)];
}

function resourceCauses(resources: Json, path: string): Cause[] {
  const [requests, limits] = [record(resources.requests), record(resources.limits)];
  const causes = Object.entries(requests).flatMap(([name, request]) => {
    const cause = requestCause(name, String(request), own(limits, name), path);
    return cause === undefined ? [] : [cause];
  });
  const names = Object.keys({ ...requests, ...limits });
  const needsMore = names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory');
  return needsMore ? [...causes, fieldForbidden(path, 'HugePages require cpu or memory')] : causes;
}

/** A request must not exceed its limit. If a resource cannot be overcommitted, both must be equal. */
function requestCause(name: string, request: string, limit: unknown, path: string): Cause | undefined {
  const isShared = !isExtended(name) && !isHugePages(name);
  if (limit === undefined) {
    const detail = 'Limit must be set for non overcommitable resources';
    return isShared ? undefined : requiredValue(`${path}.limits`, detail);
  }
  const order = compareQuantities(request, String(limit));
  if (isShared ? order <= 0 : order === 0) return undefined;
  const rule = isShared ? 'less than or equal' : 'equal';
  return invalidValue(`${path}.requests`, request, `must be ${rule} to ${name} limit of ${String(limit)}`);
}

/** Extended resources have the domain of their vendor as a prefix. */
const isExtended = (name: string): boolean => name.includes('/') && !name.includes('kubernetes.io/');

const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
