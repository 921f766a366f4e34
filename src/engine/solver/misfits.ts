/** Describes why no instance type of a template fits a pod, in the texts that users of Karpenter know. */
import { minValuesText } from '../instance-types.ts';
import type { IdlePool, Misfit, PodRefusal, Resources } from '../model.ts';
import { addResources, maxResources, minCommonResources, quantityList } from '../resources.ts';
import { formatTaint } from '../taints.ts';
import type { BitSet } from './bitset.ts';
import type { CompiledTypes } from './compiled-types.ts';
import type { DaemonGroup } from './daemons.ts';
import { type Amounts, sum } from './dimensions.ts';
import type { PodClass } from './pod-class.ts';
import type { Shape } from './shape.ts';

/** Input of the check that no type passed. */
export interface TypeCheck {
  readonly catalogue: CompiledTypes;
  readonly shape: Shape;
  /** Rows that were checked. */
  readonly rows: BitSet;
  /** Daemon groups without a host port conflict with the pod. */
  readonly groups: readonly DaemonGroup[];
  /** Requests of all pods of the claim, including the new pod. */
  readonly amounts: Amounts;
  readonly podClass: PodClass;
  readonly allGroups: readonly DaemonGroup[];
}

/** For each of the three tests, and for each pair of tests, true if some type passes. */
interface CheckResults {
  compatible: boolean;
  fits: boolean;
  offered: boolean;
  compatibleAndFits: boolean;
  compatibleAndOffered: boolean;
  fitsAndOffered: boolean;
}

/** Returns the text of a misfit for events. */
export const misfitText = (misfit: Misfit): string =>
  misfit.code === 'taint' ? `did not tolerate taint (taint=${formatTaint(misfit.taint)})` : misfit.text;

const NO_TEMPLATES = 'nodepool requirements filtered out all available instance types';

/**
 * Returns the reason for events why a pod fits nowhere. NodePools that were tried contribute the text of their misfit, and idle
 * NodePools contribute a text with their name.
 */
export function refusalText(tried: readonly { readonly misfit: Misfit }[], idle: readonly IdlePool[]): string {
  const texts = tried.length === 0 ? [NO_TEMPLATES] : tried.map(({ misfit }) => misfitText(misfit));
  return [...texts, ...idle.map(idleText)].join('; ');
}

const idleText = ({ nodePool, misfit }: IdlePool): string =>
  `NodePool ${nodePool} is not used (${misfit.code}): ${misfitText(misfit)}`;

/** Returns the refusal for all pods if no NodePool takes part. */
export function noPools(idle: readonly IdlePool[]): PodRefusal {
  const text = 'no dynamic nodepools found';
  if (idle.length === 0) return { code: 'no-pools', text };
  return { code: 'no-fit', text: [text, ...idle.map(idleText)].join('; '), pools: idle };
}

/** CPU, in millicores, that exceeds any machine. The user probably omitted `m`. */
const TYPO_CPU = 1_000_000_000;

function checkResults({ catalogue, shape, rows, groups, amounts }: TypeCheck): CheckResults {
  const results: CheckResults = {
    compatible: false,
    fits: false,
    offered: false,
    compatibleAndFits: false,
    compatibleAndOffered: false,
    fitsAndOffered: false,
  };
  const allowed = catalogue.allowed(shape.requirements);
  for (const group of groups) {
    const inGroup = group.rows.clone().and(rows);
    const offered = inGroup.clone().and(shape.offerings.offered);
    const fitting = catalogue.keepFitting(offered.clone(), sum(amounts, group.amounts));
    const compatible = inGroup.clone().and(allowed);
    results.compatible ||= !compatible.isEmpty;
    results.offered ||= !offered.isEmpty;
    results.fits ||= !fitting.isEmpty;
    results.compatibleAndFits ||= compatible.intersects(fitting);
    results.compatibleAndOffered ||= compatible.intersects(offered);
    results.fitsAndOffered ||= fitting.intersects(offered);
  }
  return results;
}

function phrase(results: CheckResults): string {
  const { compatible, fits, offered } = results;
  if (!compatible && !fits && !offered)
    return 'no instance type met the scheduling requirements or had enough resources or had a required offering';
  if (!compatible && !fits) return 'no instance type met the scheduling requirements or had enough resources';
  if (!compatible && !offered) return 'no instance type met the scheduling requirements or had a required offering';
  if (!fits && !offered) return 'no instance type had enough resources or had a required offering';
  if (!compatible) return 'no instance type met all requirements';
  if (!fits) return 'no instance type has enough resources';
  if (!offered) return 'no instance type has the required offering';
  if (results.compatibleAndFits)
    return 'no instance type which met the scheduling requirements and had enough resources, had a required offering';
  if (results.fitsAndOffered)
    return 'no instance type which had enough resources and the required offering met the scheduling requirements';
  if (results.compatibleAndOffered)
    return 'no instance type which met the scheduling requirements and the required offering had the required resources';
  return 'no instance type met the requirements/resources/offering tuple';
}

const json = (resources: Resources): string => JSON.stringify(quantityList(resources));

/**
 * Returns the requests of the pod plus the overhead of daemons. If the overhead depends on the type, returns the minimum and the
 * maximum.
 */
function resourcesText({ podClass, allGroups }: TypeCheck): string {
  const overheads = allGroups.map(({ overhead }) => overhead);
  const [first = {}] = overheads;
  const least = addResources(podClass.requests, overheads.reduce(minCommonResources, first));
  const most = addResources(podClass.requests, maxResources(...overheads));
  const [min, max] = [json(least), json(most)];
  return min === max ? min : `min=${min}, max=${max}`;
}

const context = (check: TypeCheck): string =>
  `, requirements=${check.shape.requirements}, resources=${resourcesText(check)}`;

export function minValuesMisfit(
  check: TypeCheck,
  unsatisfied: readonly (readonly [key: string, reached: number])[],
): Misfit {
  return { code: 'min-values', text: minValuesText(unsatisfied) + context(check) };
}

/** Returns the misfit if the types have room for everything but the volumes of the pod. */
function volumeMisfit(check: TypeCheck): Misfit | undefined {
  const { catalogue, podClass, shape } = check;
  for (const { driver, at, volumes } of podClass.slots) {
    const amounts = check.amounts.slice();
    amounts[at] = 0;
    if (!checkResults({ ...check, amounts }).compatibleAndFits) continue;
    const possible = catalogue.allowed(shape.requirements).and(check.rows).members;
    const most = possible.reduce((found, row) => Math.max(found, catalogue.allocatableAt(row)?.[at] ?? 0), 0);
    const wanted = volumes.size;
    const text = `no instance type can attach ${wanted} volumes of ${driver} to a node (at most ${most})`;
    return { code: 'volume-limit', text: text + context(check), driver, wanted, most };
  }
  return undefined;
}

export function instanceTypesMisfit(check: TypeCheck): Misfit {
  const results = checkResults(check);
  let text = phrase(results) + context(check);
  const onlyTooSmall = results.compatible && results.offered && !results.fits;
  if (onlyTooSmall && (check.podClass.requests.cpu ?? 0) >= TYPO_CPU)
    text += ' (CPU request >= 1 Million, m vs M typo?)';
  if (check.groups.length === 0) return { code: 'host-port', text };
  const exceeded = onlyTooSmall ? volumeMisfit(check) : undefined;
  if (exceeded !== undefined) return exceeded;
  const [incompatible, tooSmall, notOffered] = [!results.compatible, !results.fits, !results.offered];
  return { code: 'instance-types', text, incompatible, tooSmall, notOffered };
}
