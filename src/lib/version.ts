/** Version of the product, of package.json. Written by `npm run generate`. */
export const VERSION = '0.1.0';
