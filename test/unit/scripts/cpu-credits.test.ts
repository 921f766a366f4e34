/** The generator of the table of CPU credits, with AWS's page as HTML and as Markdown. */
import { describe, expect, it } from '@jest/globals';
import { EARNED_CREDITS } from '#aws/testing';
import { creditTable, earnedCredits } from '../../../scripts/cpu-credits.ts';

const markdown = (type: string, credits: string): string => `| ${type} | ${credits} | 72 | 1 | 5% |\n`;
const html = (type: string, credits: string): string =>
  `<tr><td><p>${type}</p></td>\n<td>${credits}</td><td>72</td></tr>`;

describe('the table of CPU credits', () => {
  it.each([
    ['Markdown', markdown],
    ['HTML', html],
  ])('has the types of the page in %s, ordered by family and size', (_, row) => {
    const page = [row('t3.2xlarge', '192'), row('t3.nano', '6'), row('t2.2xlarge', '81.6')].join('');
    expect(creditTable(earnedCredits(page), 'somewhere')).toContain(
      "Source: somewhere.\n */\nexport const EARNED_CREDITS: Readonly<Record<string, string>> = {\n  t2: '2xlarge:81.6',\n  t3: 'nano:6 2xlarge:192',\n};\n",
    );
  });

  it('ignores sentences that mention types', () => {
    expect(earnedCredits('A t3.small has 2 vCPUs, and t2.micro earns six credits.').size).toBe(0);
  });

  it('does not change if it is generated from itself', () => {
    const page = Object.entries(EARNED_CREDITS)
      .flatMap(([family, sizes]) =>
        sizes.split(' ').map((pair) => {
          const [size = '', credits = ''] = pair.split(':');
          return markdown(`${family}.${size}`, credits);
        }),
      )
      .join('');
    const written = [...creditTable(earnedCredits(page), '').matchAll(/^ {2}(\w+): '(.*)',$/gm)];
    expect(Object.fromEntries(written.map(([, family = '', sizes]) => [family, sizes]))).toEqual(EARNED_CREDITS);
  });
});
