/** Renders the explanation of a ProvisioningRequest as text. */
import type { RequestExplanation } from '#engine/explanations';
import { indented, terminalWidth } from './wrap.ts';

export function provisioningRequestText(found: RequestExplanation): string {
  const { request, class: name, phase, pods, text, room, conditions, next } = found;
  const places = room && [
    `${room.existing} on existing nodes`,
    `${room.joining} on nodes that join`,
    `${room.new} on new nodes`,
    `${room.refused} without room`,
  ];
  const facts = [
    ['class', name],
    ['phase', phase],
    ['pods', `${pods}${places === undefined ? '' : ` (${places.join(', ')})`}`],
    ['reason', text],
    ...conditions.map(({ type, status, text: why }) => [type, `${status}, ${why}`]),
    ['next', next],
  ].flatMap(([label = '', value]) =>
    value === undefined || value === ''
      ? []
      : [`  ${label.padEnd(15)} ${indented(value, ' '.repeat(18), terminalWidth())}`],
  );
  return `${[`ProvisioningRequest ${request}`, ...facts].join('\n')}\n`;
}
