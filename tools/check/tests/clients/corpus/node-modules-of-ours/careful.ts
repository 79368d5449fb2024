export default { idempotent: true };
export const hasty = false;
