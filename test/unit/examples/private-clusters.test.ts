/** The page about private clusters lists a VPC endpoint, or its absence, for each AWS service that the operator calls. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const text = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

describe('the page about private clusters', () => {
  it('has a row for each AWS client of the operator', () => {
    const clients = [...text('src/aws/clients.ts').matchAll(/from '@aws-sdk\/client-(\w+)'/g)].map(
      ([, name = '']) => name,
    );
    const services = [...text('docs/tasks/private.md').matchAll(/^\| ([^|]+) \|/gm)].map(([, name = '']) =>
      name.toLowerCase(),
    );
    expect(clients.length).toBeGreaterThan(5);
    expect(clients.filter((client) => !services.some((service) => service.includes(client)))).toEqual([]);
    expect(services.some((service) => service.includes('zonal shift'))).toBe(true);
  });
});
