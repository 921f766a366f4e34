/** Who every client of this server is. */
export const USER = { username: 'admin', uid: 'admin', groups: ['system:masters', 'system:authenticated'] };
