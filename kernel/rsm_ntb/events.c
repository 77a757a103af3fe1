// SPDX-License-Identifier: GPL-2.0
/* Events of the control descriptor. */
#include <linux/spinlock.h>

#include "port.h"

void rsm_event(struct rsm_port *port, u32 type, u64 id)
{
	struct rsm_ntb_event event = { .type = type, .epoch = port->epoch, .id = id };

	if (type == RSM_NTB_EVENT_DOWN)
		event.epoch = port->last_epoch;
	spin_lock_irq(&port->event_lock);
	if (port->control && port->queue_count == RSM_EVENTS)
		port->overflow = true;
	else if (port->control)
		port->queue[(port->queue_head + port->queue_count++) % RSM_EVENTS] = event;
	spin_unlock_irq(&port->event_lock);
	wake_up(&port->control_wait);
}

/*
 * A doorbell has rung, maybe in an interrupt: let the daemon read the counters of connections.
 * After this event the next one comes only for doorbells after the daemon's read.
 */
void rsm_event_posted(struct rsm_port *port)
{
	unsigned long flags;
	bool rang = false;

	spin_lock_irqsave(&port->event_lock, flags);
	if (port->control && port->caps & RSM_NTB_PEER_POSTS && !port->rung)
		rang = port->rung = true;
	spin_unlock_irqrestore(&port->event_lock, flags);
	if (rang)
		wake_up(&port->control_wait);
}

/* The next event for the reader: OVERFLOW behind those that were kept. */
bool rsm_next_event(struct rsm_port *port, struct rsm_ntb_event *event)
{
	bool found = true;

	spin_lock_irq(&port->event_lock);
	if (port->queue_count) {
		*event = port->queue[port->queue_head];
		port->queue_head = (port->queue_head + 1) % RSM_EVENTS;
		port->queue_count--;
	} else if (port->rung) {
		*event = (struct rsm_ntb_event){ .type = RSM_NTB_EVENT_POSTED,
						 .epoch = port->epoch };
		port->rung = false;
	} else if (port->overflow) {
		*event = (struct rsm_ntb_event){ .type = RSM_NTB_EVENT_OVERFLOW,
						 .epoch = port->epoch };
		port->overflow = false;
	} else {
		found = false;
	}
	spin_unlock_irq(&port->event_lock);
	return found;
}

bool rsm_has_events(struct rsm_port *port)
{
	return READ_ONCE(port->queue_count) || READ_ONCE(port->overflow) || READ_ONCE(port->rung);
}
