/** Summarizes the launches, pods, costs and API calls of the demo. */
import type { LocalInstance } from '../../local/aws/types.ts';
import type { World } from '../../local/world.ts';
import type { Bills } from './bills.ts';
import type { Narrator } from './narrator.ts';
import { columns, usd } from './screen.ts';

const MINUTE_USD_DIGITS = 6;

/** Returns the savings of spot prices for the same machine hours in USD, from each instance's cost and its two prices. */
function savedBySpotUsd({ aws }: World, instances: readonly LocalInstance[]): number {
  return instances.reduce((sum, { id, type, usdPerHour }) => {
    const listPrice = aws.catalogue.onDemandUsd(type) ?? usdPerHour;
    return usdPerHour > 0 ? sum + aws.spending.usd(id) * (listPrice / usdPerHour - 1) : sum;
  }, 0);
}

export function summaryLines(world: World, narrator: Narrator, bills: Bills): string[] {
  const instances = world.aws.instances.list();
  const spent = instances.reduce((sum, instance) => sum + bills.usdOf(instance), 0);
  const calls = Object.entries(world.aws.calls.counts());
  const left = instances.filter((instance) => instance.state === 'pending' || instance.state === 'running').length;
  const total = calls.reduce((sum, [, count]) => sum + count, 0);
  return [
    ...columns([
      ['instances launched', `${instances.length}`, `${left} still running`],
      ['pods started', `${narrator.podsStarted}`, ''],
      ['spent', usd(spent, MINUTE_USD_DIGITS), 'instances, volumes and addresses'],
      [
        'saved by spot',
        usd(savedBySpotUsd(world, instances), MINUTE_USD_DIGITS),
        'compared with the same instances on demand',
      ],
      ['AWS calls', `${total}`, ''],
    ]),
    '',
    ...columns(calls.sort((a, b) => b[1] - a[1]).map(([action, count]) => [`  ${action}`, `${count}`])),
  ];
}
