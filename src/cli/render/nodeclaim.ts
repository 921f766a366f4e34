/** Renders the explanation of a NodeClaim as text. */
import { formatDuration } from '#api/values';
import type { NodeClaimExplanation, OfferingPrice } from '#engine/explanations';
import { planningPart, table, usdPerHour } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

const MOST_PODS = 10;

export function nodeClaimText(found: NodeClaimExplanation): string {
  const { nodeClaim, nodePool, node, instance, launched, capacityType, join, zone, preferences } = found;
  const facts = [
    ['NodePool', nodePool],
    ['node', node],
    ['instance', instance],
    ['for pods', podsText(found.pods)],
    ['requests', requestsText(found)],
    ['launched', launched && `${launched.instanceType} in ${launched.zone}${priceText(launched)}`],
    ['zone', zone],
    ['prefers', preferences],
    ['capacity', capacityType],
    ['EC2', answerText(found)],
    ['state', join?.text],
  ].flatMap(([name = '', value]) => {
    if (value === undefined || value === '') return [];
    return [`  ${name.padEnd(8)}  ${indented(value, ' '.repeat(12), terminalWidth())}`];
  });
  return `${[`NodeClaim ${nodeClaim}`, ...facts].join('\n')}\n${checksText(found)}${alternativesText(found)}`;
}

const priceText = ({ usdPerHour: usd, spotRiskUsdPerHour: risk }: Partial<OfferingPrice>): string =>
  usd === undefined ? '' : ` for ${usdPerHour(usd)}${planningPart([['spot risk', risk]])}`;

function podsText(pods: readonly string[]): string {
  if (pods.length === 0) return 'none';
  const more = pods.length - MOST_PODS;
  return `${pods.slice(0, MOST_PODS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

const requestsText = ({ requests }: NodeClaimExplanation): string =>
  Object.entries(requests)
    .map(([name, amount]) => `${name} ${amount}`)
    .join(', ');

function answerText({ answer }: NodeClaimExplanation): string | undefined {
  if (answer === undefined) return undefined;
  const { requestedTypes, capacityType, launched, errors } = answer;
  const request = `requested one ${capacityType} instance of ${requestedTypes} types`;
  const failures = errors.map(({ instanceType, zone, text }) => `${instanceType} in ${zone}: ${text}`);
  const result = launched === undefined ? 'launched none' : `launched ${launched.id}, ${launched.instanceType}`;
  return `${request}; ${result}${failures.length === 0 ? '' : `; errors: ${failures.join('; ')}`}`;
}

function checksText({ join }: NodeClaimExplanation): string {
  if (join === undefined) return '';
  const until = join.deadline === undefined ? '' : `, until ${join.deadline}`;
  const next = join.nextAttempt === undefined ? '' : `  next      ${join.nextAttempt}\n`;
  const facts = `  waiting   ${formatDuration(Math.floor(join.elapsedMs / 1000) * 1000)}${until}\n${next}`;
  if (join.checks.length === 0) return facts;
  const rows = join.checks.map(({ code, text, command }, at) => `  ${at + 1}. ${code}: ${text}\n     ${command}`);
  return `${facts}\nPROBABLE CAUSES\n${rows.join('\n')}\n`;
}

function alternativesText({ alternatives, excluded }: NodeClaimExplanation): string {
  const priceCell = (each: OfferingPrice): string =>
    `${usdPerHour(each.usdPerHour)}${planningPart([['spot risk', each.spotRiskUsdPerHour]])}`;
  const rows = alternatives.map((each) => [
    each.instanceType,
    each.zone,
    each.capacityType,
    priceCell(each),
    each.code,
    each.text,
  ]);
  const groups = excluded.map(({ text, offerings, cheapest }) => [
    text,
    String(offerings),
    `${cheapest.instanceType} in ${cheapest.zone}, ${cheapest.capacityType}, ${priceCell(cheapest)}`,
  ]);
  const tables = [
    table(['ALTERNATIVE', 'ZONE', 'CAPACITY', 'PRICE', 'CODE', 'NOT CHOSEN BECAUSE'], rows),
    table(['EXCLUDED BECAUSE', 'OFFERINGS', 'CHEAPEST'], groups),
  ];
  return tables.map((each) => (each === '' ? '' : `\n${each}\n`)).join('');
}
