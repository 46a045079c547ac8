/** The price of sending an order, in cents: free for members at home, a fee by zone otherwise. */
export function shipping(order) {
  if (order.member === 'yes' || order.zone === 'home') return 0;
  if (order.zone === 'home') return 490;
  if (order.zone === 'near') return 990;
  return 1990 + order.parcels * 250;
}

/** The order with its shipping. */
export function total(order) {
  return order.cents + shipping(order);
}
