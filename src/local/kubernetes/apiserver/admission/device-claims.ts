/** Validation of resource claims and device classes: the rules that clients notice, with the messages of the API server. */
import { compileSelector, LONGEST_SELECTOR, SelectorError } from '#api/devices';
import { type ApiObject, at, equal, type Json, list, record, records, text } from '../json.ts';
import {
  duplicate,
  fieldForbidden,
  invalidValue,
  notSupported,
  requiredValue,
  type StatusCause,
  tooLong,
  tooMany,
} from '../status.ts';
import { labelNameError } from './names.ts';

/** Maximum number of requests, constraints, configurations and selectors. */
const MOST_ITEMS = 32;
const MOST_ALTERNATIVES = 8;
const MOST_TOLERATIONS = 16;
const NOT_A_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const NOT_A_DOMAIN = 'a fully qualified name must be a domain and a name separated by a slash';

const tooManyCauses = (field: string, items: readonly unknown[], most: number): readonly StatusCause[] =>
  items.length > most ? [tooMany(field, items.length, most)] : [];

function selectorCauses(selectors: unknown, field: string): readonly StatusCause[] {
  const all = records(selectors);
  return [
    ...tooManyCauses(field, all, MOST_ITEMS),
    ...all.flatMap(({ cel }, index): readonly StatusCause[] => {
      const path = `${field}[${index}].cel`;
      if (cel === undefined) return [requiredValue(path)];
      const expression = text(record(cel).expression);
      if (Buffer.byteLength(expression) > LONGEST_SELECTOR) return [tooLong(`${path}.expression`, LONGEST_SELECTOR)];
      try {
        compileSelector(expression);
        return [];
      } catch (error) {
        if (!(error instanceof SelectorError)) throw error;
        const detail = error.message.startsWith('must evaluate')
          ? error.message
          : `compilation failed: ${error.message}`;
        return [invalidValue(`${path}.expression`, expression, detail)];
      }
    }),
  ];
}

function tolerationCauses(tolerations: unknown, field: string): readonly StatusCause[] {
  const all = records(tolerations);
  return [
    ...tooManyCauses(field, all, MOST_TOLERATIONS),
    ...all.flatMap(({ operator }, index) =>
      ['Equal', 'Exists'].includes(text(operator))
        ? []
        : [notSupported(`${field}[${index}].operator`, text(operator), ['Equal', 'Exists'])],
    ),
  ];
}

/** Returns the causes for `exactly` of a request, or for an alternative. */
function detailCauses(details: Json, field: string): readonly StatusCause[] {
  const { deviceClassName, allocationMode, count } = details;
  const causes: StatusCause[] = [];
  if (text(deviceClassName) === '') causes.push(requiredValue(`${field}.deviceClassName`));
  causes.push(...selectorCauses(details.selectors, `${field}.selectors`));
  if (allocationMode === 'All' && count !== undefined && count !== 0)
    causes.push(invalidValue(`${field}.count`, count, "must not be specified when allocationMode is 'All'"));
  else if (allocationMode === 'ExactCount' && typeof count === 'number' && count <= 0)
    causes.push(invalidValue(`${field}.count`, count, 'must be greater than zero'));
  else if (allocationMode !== 'All' && allocationMode !== 'ExactCount')
    causes.push(notSupported(`${field}.allocationMode`, text(allocationMode), ['All', 'ExactCount']));
  causes.push(...tolerationCauses(details.tolerations, `${field}.tolerations`));
  return causes;
}

function nameCauses(name: unknown, field: string): readonly StatusCause[] {
  const wrong = labelNameError(text(name));
  return wrong === undefined ? [] : [invalidValue(`${field}.name`, text(name), wrong)];
}

function duplicateCauses(items: readonly Json[], field: string): readonly StatusCause[] {
  const seen = new Set<string>();
  return items.flatMap(({ name }, index) => {
    const isNew = !seen.has(text(name));
    seen.add(text(name));
    return isNew ? [] : [duplicate(`${field}[${index}]`, text(name))];
  });
}

function requestCauses(request: Json, field: string): readonly StatusCause[] {
  const { name, exactly, firstAvailable } = request;
  const causes = [...nameCauses(name, field)];
  const alternatives = records(firstAvailable);
  const parts = Number(exactly !== undefined) + Number(alternatives.length > 0);
  const oneOf = 'exactly one of `exactly` or `firstAvailable` is required';
  if (parts === 0) causes.push(requiredValue(field, oneOf));
  if (parts === 2) causes.push(invalidValue(field, null, `${oneOf}, but multiple fields are set`));
  if (exactly !== undefined) causes.push(...detailCauses(record(exactly), `${field}.exactly`));
  const path = `${field}.firstAvailable`;
  causes.push(...tooManyCauses(path, alternatives, MOST_ALTERNATIVES), ...duplicateCauses(alternatives, path));
  for (const [index, each] of alternatives.entries())
    causes.push(...nameCauses(each.name, `${path}[${index}]`), ...detailCauses(each, `${path}[${index}]`));
  return causes;
}

/** Returns the names that constraints and results can refer to. */
function requestNames(requests: readonly Json[]): ReadonlySet<string> {
  return new Set(
    requests.flatMap(({ name, firstAvailable }) => [
      text(name),
      ...records(firstAvailable).map((each) => `${text(name)}/${text(each.name)}`),
    ]),
  );
}

const referenceCauses = (names: unknown, known: ReadonlySet<string>, field: string): readonly StatusCause[] =>
  list(names).flatMap((name, index) =>
    known.has(text(name)) ? [] : [invalidValue(`${field}[${index}]`, name, NOT_A_REQUEST)],
  );

function constraintCauses(constraint: Json, known: ReadonlySet<string>, field: string): readonly StatusCause[] {
  const { matchAttribute, distinctAttribute } = constraint;
  const causes = [...referenceCauses(constraint.requests, known, `${field}.requests`)];
  const oneOf = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  if ((matchAttribute === undefined) === (distinctAttribute === undefined)) causes.push(requiredValue(field, oneOf));
  for (const [name, value] of Object.entries({ matchAttribute, distinctAttribute }))
    if (typeof value === 'string' && !value.includes('/'))
      causes.push(invalidValue(`${field}.${name}`, value, NOT_A_DOMAIN));
  return causes;
}

function claimSpecCauses(spec: Json, field: string): readonly StatusCause[] {
  const devices = record(spec.devices);
  const requests = records(devices.requests);
  const constraints = records(devices.constraints);
  const known = requestNames(requests);
  const path = `${field}.devices`;
  return [
    ...tooManyCauses(`${path}.requests`, requests, MOST_ITEMS),
    ...duplicateCauses(requests, `${path}.requests`),
    ...requests.flatMap((request, index) => requestCauses(request, `${path}.requests[${index}]`)),
    ...tooManyCauses(`${path}.constraints`, constraints, MOST_ITEMS),
    ...constraints.flatMap((each, index) => constraintCauses(each, known, `${path}.constraints[${index}]`)),
  ];
}

const immutable = (field: string, value: unknown): StatusCause => invalidValue(field, value, 'field is immutable');

export function claimCauses(claim: ApiObject, old?: ApiObject): StatusCause[] {
  // the spec of a stored claim is valid, because it never changes
  if (old !== undefined) return equal(old.spec, claim.spec) ? [] : [immutable('spec', claim.spec)];
  return [...claimSpecCauses(record(claim.spec), 'spec')];
}

export function claimTemplateCauses(template: ApiObject, old?: ApiObject): StatusCause[] {
  if (old !== undefined) return equal(old.spec, template.spec) ? [] : [immutable('spec', template.spec)];
  return [...claimSpecCauses(record(at(template, 'spec', 'spec')), 'spec.spec')];
}

/** Returns the causes why a status of a claim is invalid. */
export function claimStatusCauses(claim: ApiObject, old: ApiObject): StatusCause[] {
  const { allocation, reservedFor } = record(claim.status);
  const before = at(old, 'status', 'allocation');
  const causes: StatusCause[] = [];
  if (allocation !== undefined && before !== undefined && !equal(allocation, before))
    causes.push(immutable('status.allocation', allocation));
  const known = requestNames(records(at(claim, 'spec', 'devices', 'requests')));
  if (!equal(allocation, before))
    for (const [index, { request }] of records(at(record(allocation), 'devices', 'results')).entries())
      if (!known.has(text(request)))
        causes.push(invalidValue(`status.allocation.devices.results[${index}].request`, request, NOT_A_REQUEST));
  if (allocation === undefined && records(reservedFor).length > 0)
    causes.push(fieldForbidden('status.reservedFor', 'may not be specified when `allocated` is not set'));
  return causes;
}

const RESOURCE_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export function deviceClassCauses({ spec }: ApiObject): StatusCause[] {
  const { selectors, extendedResourceName } = record(spec);
  const causes = [...selectorCauses(selectors, 'spec.selectors')];
  if (extendedResourceName !== undefined && !RESOURCE_NAME.test(text(extendedResourceName)))
    causes.push(
      invalidValue('spec.extendedResourceName', extendedResourceName, 'must be a valid extended resource name'),
    );
  return causes;
}
