/** Invalid settings: each must result in a sensible value, or in an error with its name. */
import { describe, expect, it } from '@jest/globals';
import { type AwsOperatorSettings, parseAwsSettings } from '#aws/settings';
import { HelpRequested, SettingsError } from '#process/settings';
import { withinCpuTime } from '../support/cpu-time.ts';

const HUGE = 'x'.repeat(100_000);
const VALUES: readonly string[] = [
  ...['', ' ', '\n', '\0', 'a\nb', 'a\0b', '\u001b[31mred', 'ünï✓', '\ud800', '{}', '[]', '$(id)', '../../x'],
  ...['null', 'undefined', 'NaN', 'Infinity', '-Infinity', '__proto__', 'constructor', 'true=', '=true', ',', '='],
  ...['-1', '0', '-0', '1', '0.5', '1e999', '1e-999', '0x10', '1_000', ' 7 ', '٣', '65536', '2147483648'],
  ...[String(2n ** 53n), String(2n ** 63n), String(-(2n ** 63n)), '9'.repeat(400), HUGE],
  ...['-1s', '0s', '1ns', '99999999h', '2000000h', '1h'.repeat(1_000), '1e9s', '292y', `${'9'.repeat(400)}s`, 'Never'],
  ...['http://', 'https://x', 'javascript:x', 'https://a b', 'NodeRepair=maybe', 'a=true,'.repeat(10_000)],
  ...['podTopologySpread: {defaultConstraints: [{}]}', '&a [*a]', '- '.repeat(2_000), '['.repeat(20_000)],
  ...['{podTopologySpread: {defaultConstraints: {length: 1}}}', '!!binary aGk=', 'a: b: c', '\t- x'],
];

/** Returns the flags from the usage text. */
function flags(): readonly string[] {
  try {
    parseAwsSettings(['--help'], {});
  } catch (error) {
    if (error instanceof HelpRequested)
      return [...error.message.matchAll(/^ {2}--([a-z-]+)$/gm)].map(([, flag = '']) => flag);
    throw error;
  }
  return [];
}

const CLUSTER = { CLUSTER_NAME: 'demo' };
/** Limit of CPU time. A parser with quadratic time would exceed it. */
const LONGEST_MS = 5_000;
const LONGEST_ERROR = 2_000;

/** @throws any error of parseAwsSettings except a SettingsError */
function outcome(argv: readonly string[], env: Readonly<Record<string, string>>): AwsOperatorSettings | string {
  try {
    return parseAwsSettings(argv, { ...CLUSTER, ...env });
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
}

const environmentName = (flag: string): string => flag.toUpperCase().replaceAll('-', '_');

/** Returns the names of settings with unusable values. */
function nonsenseIn(settings: AwsOperatorSettings): readonly string[] {
  const { metricsPort, healthProbePort } = settings;
  const wrong = Object.entries(settings)
    .filter(([, value]) => typeof value === 'number' && !Number.isFinite(value))
    .map(([name]) => name);
  for (const [name, port] of Object.entries({ metricsPort, healthProbePort }))
    if (port < 0 || port > 65_535) wrong.push(name);
  for (const name of ['batchMaxMs', 'batchIdleMs', 'amiRefreshIntervalMs', 'subnetRefreshIntervalMs'] as const)
    if (settings[name] < 0) wrong.push(name);
  if (settings.cpuRequests <= 0) wrong.push('cpuRequests');
  return wrong;
}

function expectSensible(flag: string, value: string, result: AwsOperatorSettings | string): void {
  const shown = JSON.stringify(value).slice(0, 60);
  if (typeof result !== 'string') {
    expect([shown, nonsenseIn(result)]).toEqual([shown, []]);
    return;
  }
  const names = [flag, environmentName(flag), flag.replaceAll('-', ' ')];
  expect([shown, names.some((name) => result.includes(name)), result.length < LONGEST_ERROR, result]).toEqual([
    shown,
    true,
    true,
    expect.any(String),
  ]);
}

describe('a setting', () => {
  it.each(flags())('is either sensible or rejected: %s', (flag) => {
    withinCpuTime(LONGEST_MS, () => {
      for (const value of VALUES) {
        expectSensible(flag, value, outcome([`--${flag}=${value}`], {}));
        expectSensible(flag, value, outcome([], { [environmentName(flag)]: value }));
      }
    });
  });

  it('is one of more than 30 flags', () => expect(flags().length).toBeGreaterThan(30));

  const strangers = ['--', '-', '---x=1', '--=1', '--__proto__=1', '--constructor=1', 'x', '\0', HUGE];
  it.each(
    strangers.map((each) => [JSON.stringify(each).slice(0, 40), each] as const),
  )('is rejected if its argument %s is unknown', (_, argument) => {
    const result = outcome([argument], {});
    if (argument === '--') {
      expect(result).toMatchObject({ clusterName: 'demo' });
      return;
    }
    expect(result).toEqual(expect.stringMatching(/^(flag provided but not defined|unexpected argument)/));
    expect(String(result).length).toBeLessThan(LONGEST_ERROR);
  });
});
