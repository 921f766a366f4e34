/** Run by `npm run test:moto`, which starts the server. */
import { describe, expect, it } from '@jest/globals';
import { catalogueDifferences } from './catalogue.ts';
import { openMoto } from './moto.ts';
import { contract } from './suite.ts';
import { templateOn } from './template.ts';

const url = process.env.MOTO_URL;
if (url === undefined) throw new Error('MOTO_URL is not set: use npm run test:moto');

contract('moto', () => openMoto(url));
templateOn(url);

describe('the local catalogue', () => {
  it("agrees with moto's on every common type", async () => {
    const { common, differences } = await catalogueDifferences(url);
    expect(common).toBeGreaterThan(400);
    expect(differences).toEqual([]);
  }, 60_000);
});
