import { expect, it } from '@jest/globals';
import { pagesOf } from '../../../src/aws/pages.ts';

async function* counting(): AsyncGenerator<number> {
  for (let page = 1; ; page += 1) yield page;
}

it.each(['NextToken', 'Marker'])('ends if a page is followed by the same page, by its %s', async (token) => {
  async function* repeating(): AsyncGenerator<object> {
    for (;;) yield { [token]: 'a' };
  }
  let read = 0;
  const all = async (): Promise<void> => {
    for await (const _ of pagesOf('DescribeThings', repeating())) read += 1;
  };
  await expect(all()).rejects.toThrow('AWS returned the same page again for DescribeThings');
  expect(read).toBe(1);
});

it('reads pages until the end', async () => {
  const read: number[] = [];
  const all = async (): Promise<void> => {
    for await (const page of pagesOf('DescribeThings', counting(), 3)) read.push(page);
  };
  await expect(all()).rejects.toThrow('AWS returned more than 3 pages for DescribeThings');
  expect(read).toEqual([1, 2, 3]);
});
