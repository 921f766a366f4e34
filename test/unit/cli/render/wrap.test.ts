import { describe, expect, it, jest } from '@jest/globals';
import { screen } from '../../../../src/cli/demo/screen.ts';
import { advice } from '../../../../src/cli/local.ts';
import { printAs } from '../../../../src/cli/render/output.ts';
import { simulationText } from '../../../../src/cli/render/simulation.ts';
import { table } from '../../../../src/cli/render/table.ts';
import { indented, wrapped } from '../../../../src/cli/render/wrap.ts';
import { partial } from '../../../support/partial.ts';

const NODE = 'ip-10-0-0-101.us-west-2.compute.internal';
const widest = (text: string): number => Math.max(...text.split('\n').map((line) => line.length));

describe('a text for a terminal', () => {
  it.each([
    { text: 'short enough', width: 12, lines: ['short enough'] },
    { text: 'broken at blanks only', width: 12, lines: ['broken at', 'blanks only'] },
    {
      text: `the node ${NODE} stays`,
      width: 20,
      lines: ['the node ip-10-0-0-', '101.us-west-2.', 'compute.internal', 'stays'],
    },
    { text: 'abcdefghij', width: 4, lines: ['abcd', 'efgh', 'ij'] },
    { text: 'two  blanks stay between the columns', width: 20, lines: ['two  blanks stay', 'between the columns'] },
  ])('has lines of $width columns: $text', ({ text, width, lines }) => {
    expect(wrapped(text, width)).toEqual(lines);
  });

  it('is indented to its beginning', () => {
    expect(indented('because  of this and of that', ' '.repeat(9), 30)).toBe('because  of this and\n         of that');
  });
});

describe('a table', () => {
  const rows = [
    ['a', 'default', 'a reason of many words that goes on and on, far beyond the edge of a narrow terminal'],
    [NODE, 'default', 'short'],
  ];
  const headings = ['NODE', 'NODEPOOL', 'BECAUSE'];

  it('fits the terminal without losing content', () => {
    const text = table(headings, rows, 80);
    expect(widest(text)).toBeLessThanOrEqual(80);
    for (const piece of rows.flat().join(' ').split(/[ .]/)) expect(text).toContain(piece);
  });

  it('has one line per row in a pipe', () => {
    expect(table(headings, rows, Number.POSITIVE_INFINITY).split('\n')).toHaveLength(3);
  });
});

describe('output at 80 columns', () => {
  it('fits for the local world', () => {
    const world = { kube: { url: 'http://127.0.0.1:65535' }, aws: { url: 'http://127.0.0.1:65535' } };
    expect(widest(advice(partial(world), '127.0.0.1:65535'))).toBeLessThanOrEqual(80);
  });

  it('breaks between words for the demo', () => {
    const written: string[] = [];
    const output = { write: (text: string) => written.push(text), columns: 80 };
    screen(output, () => 1234).line(`aws         ${'several words of a long line '.repeat(6)}`);
    screen(output, () => 0).plain(
      'a plain line of the demo that says more than fits on one line of a terminal of 80 columns',
    );
    const text = written.join('');
    expect(widest(text)).toBeLessThanOrEqual(80);
    expect(text).toMatch(/^ {2}1\.2s {2}aws {9}several words .*\n {20}\w/);
  });
});

describe('a pod that is refused for the same reason as another', () => {
  const reason = (cpu: string): string =>
    `no instance type has enough resources, requirements=a In [b], resources={"cpu":"${cpu}"}; NodePool z is not used (static): it is`;

  it('shares its line, whatever its requests', () => {
    const text = simulationText({
      nodeClaims: [],
      existingNodes: [],
      unschedulable: { 'default/a': reason('40'), 'default/b': reason('50'), 'default/c': 'another reason' },
      totalPrice: 0,
      totalBilledPrice: 0,
    });
    expect(text).toContain(
      `  default/a and 1 other; the text is for default/a: ${reason('40')}\n  default/c: another reason`,
    );
    expect(text).not.toContain('"50"');
  });
});

describe('YAML', () => {
  it('repeats shared values instead of using anchors', async () => {
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const shared = { name: 'x' };
    await printAs('yaml', [shared, shared], String);
    const text = written.mock.calls.map(([chunk]) => String(chunk)).join('');
    written.mockRestore();
    expect(text).toBe('- name: x\n- name: x\n');
  });
});
