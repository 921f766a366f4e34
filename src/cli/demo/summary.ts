/** Summarizes the launches, pods, costs and API calls of the demo. */
import type { LocalInstance } from '../../local/aws/types.ts';
import type { World } from '../../local/world.ts';
import type { Narrator } from './narrator.ts';
import { columns, usd } from './screen.ts';

const MINUTE_USD_DIGITS = 6;

/** Returns the on-demand cost of the same machine hours in dollars, from each instance's cost and its two prices. */
function onDemandUsd(world: World, instances: readonly LocalInstance[]): number {
  return instances.reduce((sum, instance) => {
    const listPrice = world.aws.catalogue.onDemandUsd(instance.type) ?? instance.usdPerHour;
    const spent = world.aws.spending.usd(instance.id);
    return sum + (instance.usdPerHour > 0 ? spent * (listPrice / instance.usdPerHour) : spent);
  }, 0);
}

export function summaryLines(world: World, narrator: Narrator): string[] {
  const instances = world.aws.instances.list();
  const spent = world.aws.spending.usd();
  const calls = Object.entries(world.aws.calls.counts());
  const left = instances.filter((instance) => instance.state === 'pending' || instance.state === 'running').length;
  const total = calls.reduce((sum, [, count]) => sum + count, 0);
  return [
    ...columns([
      ['instances launched', `${instances.length}`, `${left} still running`],
      ['pods started', `${narrator.podsStarted}`, ''],
      ['spent', usd(spent, MINUTE_USD_DIGITS), 'at the local list and spot prices'],
      [
        'saved by spot',
        usd(onDemandUsd(world, instances) - spent, MINUTE_USD_DIGITS),
        'compared with the same instances on demand',
      ],
      ['AWS calls', `${total}`, ''],
    ]),
    '',
    ...columns(calls.sort((a, b) => b[1] - a[1]).map(([action, count]) => [`  ${action}`, `${count}`])),
  ];
}
