/** Renders the comparison of several lives on a replay's page. */
import type { LivesSummary } from '../../../replay/lives/lives-result.ts';
import { lifeRows } from '../lives.ts';
import { type Html, html } from './html.ts';

/** Renders means of all sets and differences from the first set. Returns undefined if a single life was played. */
export function livesSection(lives: LivesSummary | undefined): Html | undefined {
  if (lives === undefined) return undefined;
  const [first, ...others] = lives.sets;
  const title = html`<h2 id="lives-title">Means of ${lives.count} lives</h2>`;
  const head = html`<tr><td></td>${lives.sets.map(
    ({ name, lives: played }, index) =>
      html`<th scope="col" class="run-${index}"><span class="swatch"></span>${name}, ${played.length} lives</th>`,
  )}${others.map(
    ({ name }, index) =>
      html`<th scope="col" class="run-${index + 1}"><span class="swatch"></span>${name} compared with ${first?.name}</th>`,
  )}</tr>`;
  const body = lifeRows(lives).map(
    ({ label, means, differences }) =>
      html`<tr><th scope="row">${label}</th>${means.map((cell, index) => html`<td class="run-${index}">${cell}</td>`)}${differences.map(
        (cell, index) => html`<td class="run-${index + 1}">${cell}</td>`,
      )}</tr>`,
  );
  return html`<section aria-labelledby="lives-title">${title}<p class="soft">Lives differ in boot times and in the choice between equally suitable nodes. Differences are those between the same lives, with the 95 % confidence interval of their mean. If the interval contains zero, the lives show no difference. The plots and figures below are of a single life.</p><div class="scroll" tabindex="0" role="group" aria-label="Means and differences of all lives"><table class="figures"><thead>${head}</thead><tbody>${body}</tbody></table></div></section>`;
}
