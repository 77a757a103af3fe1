// SPDX-License-Identifier: GPL-2.0
/* The character device: roles, ioctl(), read(), poll(). rsm_ntb.h says what they mean. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "port.h"

/* ---- open and close ---- */

static int rsm_open(struct inode *inode, struct file *file)
{
	struct rsm_port *port = container_of(file->private_data, struct rsm_port, misc);
	struct rsm_open *open = kzalloc(sizeof(*open), GFP_KERNEL);

	if (!open)
		return -ENOMEM;
	open->id = rsm_mmap_id();
	if (open->id < 0) {
		int err = open->id;

		kfree(open);
		return err;
	}
	kref_get(&port->ref);
	open->port = port;
	open->mapping = file->f_mapping;
	file->private_data = open;
	return nonseekable_open(inode, file);
}

static int rsm_release(struct inode *inode, struct file *file)
{
	struct rsm_open *open = file->private_data;
	struct rsm_port *port = open->port;

	if (open->extent)
		rsm_extent_close(open);
	if (open->import)
		rsm_import_close(port, open->import);
	mutex_lock(&port->lock);
	if (port->control == open) {
		spin_lock_irq(&port->event_lock);
		port->control = NULL;
		port->queue_count = 0;
		port->overflow = false;
		port->rung = false;
		spin_unlock_irq(&port->event_lock);
		port->node = 0;
		port->caps = 0;
		if (port->ntb)
			rsm_session_publish(port);
	}
	mutex_unlock(&port->lock);
	rsm_mmap_id_free(open->id);
	kfree(open);
	rsm_port_put(port);
	return 0;
}

/* ---- roles ---- */

/* Whether fd is a control descriptor of the port. */
static int authority(struct rsm_port *port, int fd)
{
	struct file *file = fget(fd);
	int err = 0;

	if (!file)
		return -EBADF;
	if (file->f_op != &rsm_fops || ((struct rsm_open *)file->private_data)->port != port ||
	    READ_ONCE(port->control) != file->private_data)
		err = -EPERM;
	fput(file);
	return err;
}

/* A descriptor gets a role once: of two that try, one. */
static int claim(struct rsm_open *open)
{
	return cmpxchg(&open->role, RSM_NONE, RSM_CLAIMED) == RSM_NONE ? 0 : -EINVAL;
}

static void settle(struct rsm_open *open, enum rsm_role role)
{
	smp_store_release(&open->role, role); /* behind what belongs to it */
}

static int control(struct rsm_open *open, void __user *user)
{
	struct rsm_port *port = open->port;
	struct rsm_ntb_control arg;
	int err = 0;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.abi != RSM_NTB_ABI)
		return -EPROTO;
	if (!arg.node || arg.flags & ~RSM_NTB_CONTROL_POSTS ||
	    memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	err = claim(open);
	if (err)
		return err;
	mutex_lock(&port->lock);
	if (!port->ntb) {
		err = -ENODEV;
	} else if (port->control) {
		err = -EBUSY;
	} else {
		spin_lock_irq(&port->event_lock);
		port->control = open;
		spin_unlock_irq(&port->event_lock);
		port->node = arg.node;
		port->caps = arg.flags & RSM_NTB_CONTROL_POSTS ? RSM_NTB_PEER_POSTS : 0;
		rsm_session_publish(port);
	}
	mutex_unlock(&port->lock);
	settle(open, err ? RSM_NONE : RSM_CONTROL);
	return err;
}

static int export(struct rsm_open *open, void __user *user)
{
	struct rsm_ntb_export arg;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	err = authority(open->port, arg.control_fd);
	if (!err)
		err = claim(open);
	if (err)
		return err;
	err = rsm_export(open, &arg);
	settle(open, err ? RSM_NONE : RSM_EXPORT);
	if (!err && copy_to_user(user, &arg, sizeof(arg)))
		return -EFAULT; /* the extent goes with the descriptor */
	return err;
}

static int import(struct rsm_open *open, void __user *user)
{
	struct rsm_ntb_import arg;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	err = authority(open->port, arg.control_fd);
	if (!err)
		err = claim(open);
	if (err)
		return err;
	err = rsm_import(open, &arg);
	settle(open, err ? RSM_NONE : RSM_IMPORT);
	if (!err && copy_to_user(user, &arg, sizeof(arg)))
		return -EFAULT;
	return err;
}

static int share(struct rsm_open *open, void __user *user)
{
	struct rsm_ntb_share arg;
	struct rsm_open *other;
	struct file *file;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.flags & ~RSM_NTB_READ_ONLY || memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	file = fget(arg.export_fd);
	if (!file)
		return -EBADF;
	other = file->f_op == &rsm_fops ? file->private_data : NULL;
	/* A role comes after what belongs to it. */
	if (!other || other->port != open->port || smp_load_acquire(&other->role) != RSM_EXPORT)
		err = -EPERM;
	else
		err = claim(open);
	if (!err) {
		rsm_share(open, other, arg.flags & RSM_NTB_READ_ONLY);
		settle(open, RSM_SHARE);
	}
	fput(file);
	arg.map = rsm_mmap_base(open);
	if (!err && copy_to_user(user, &arg, sizeof(arg)))
		return -EFAULT;
	return err;
}

/* ---- what the roles may do ---- */

static int info(struct rsm_port *port, void __user *user)
{
	struct rsm_ntb_info arg = {
		.abi = RSM_NTB_ABI,
		.extents_max = RSM_NTB_EXTENTS_MAX,
		.granule = PAGE_SIZE,
	};
	bool session;

	mutex_lock(&port->lock);
	if (!port->ntb) {
		mutex_unlock(&port->lock);
		return -ENODEV;
	}
	session = port->epoch;
	arg.caps = (port->pool.pages ? RSM_NTB_CAP_PAGES : 0) |
		   (rsm_translated(ntb_get_dma_dev(port->ntb)) ? 0 : RSM_NTB_CAP_UNTRANSLATED) |
		   (port->pool.pin_size ? RSM_NTB_CAP_PIN : 0);
	arg.epoch = port->epoch;
	arg.link_seq = port->link_seq;
	arg.err_seq = port->err_seq;
	arg.generation = port->own.generation;
	arg.sequence = port->own.sequence;
	arg.peer_generation = session ? port->peer.generation : 0;
	arg.peer_sequence = session ? port->peer.sequence : 0;
	arg.node = port->node;
	arg.peer_node = session ? port->peer_node : 0;
	arg.peer_caps = session ? port->peer_caps : 0;
	arg.pool_size = port->pool.size;
	arg.pin_size = port->pool.pin_size;
	arg.window_size = session ? port->peer_pool : 0;
	arg.peer_granule = session ? port->peer_granule : 0;
	arg.link_up = !!(ntb_link_is_up(port->ntb, NULL, NULL) & BIT_ULL(RSM_PEER));
	strscpy(arg.device, port->device, sizeof(arg.device));
	mutex_unlock(&port->lock);
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static int trouble(struct rsm_port *port, void __user *user)
{
	struct rsm_ntb_trouble arg;

	mutex_lock(&port->lock);
	arg = port->trouble;
	mutex_unlock(&port->lock);
	return copy_to_user(user, &arg, sizeof(arg)) ? -EFAULT : 0;
}

static int revoke(struct rsm_port *port, void __user *user)
{
	struct rsm_ntb_revoke arg;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	mutex_lock(&port->lock);
	err = rsm_import_revoke(port, arg.id);
	mutex_unlock(&port->lock);
	return err;
}

static int release_extent(struct rsm_port *port, void __user *user)
{
	struct rsm_ntb_release arg;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	mutex_lock(&port->lock);
	err = rsm_extent_release(port, arg.id);
	mutex_unlock(&port->lock);
	return err;
}

static int extents(struct rsm_port *port, void __user *user)
{
	struct rsm_ntb_extents arg;
	struct rsm_ntb_extent *array;
	int err = 0;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (!arg.capacity || arg.capacity > RSM_NTB_EXTENTS_MAX ||
	    memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	array = kvcalloc(arg.capacity, sizeof(*array), GFP_KERNEL);
	if (!array)
		return -ENOMEM;
	mutex_lock(&port->lock);
	arg.count = rsm_extents_list(port, arg.from, array, arg.capacity);
	mutex_unlock(&port->lock);
	if (copy_to_user(u64_to_user_ptr(arg.array), array, arg.count * sizeof(*array)) ||
	    copy_to_user(user, &arg, sizeof(arg)))
		err = -EFAULT;
	kvfree(array);
	return err;
}

static int pin(struct rsm_open *open, void __user *user)
{
	struct rsm_ntb_pin arg;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (memchr_inv(arg.reserved, 0, sizeof(arg.reserved)))
		return -EINVAL;
	return rsm_pin(open->port, open->extent, arg.address);
}

static long rsm_ioctl(struct file *file, unsigned int request, unsigned long value)
{
	struct rsm_open *open = file->private_data;
	enum rsm_role role = smp_load_acquire(&open->role); /* with what belongs to it */
	void __user *user = (void __user *)value;

	switch (request) {
	case RSM_NTB_INFO:
		return info(open->port, user);
	case RSM_NTB_TROUBLE:
		return trouble(open->port, user);
	case RSM_NTB_CONTROL:
		return control(open, user);
	case RSM_NTB_EXPORT:
		return export(open, user);
	case RSM_NTB_IMPORT:
		return import(open, user);
	case RSM_NTB_SHARE:
		return share(open, user);
	case RSM_NTB_REVOKE:
		return role == RSM_CONTROL ? revoke(open->port, user) : -EINVAL;
	case RSM_NTB_RELEASE:
		return role == RSM_CONTROL ? release_extent(open->port, user) : -EINVAL;
	case RSM_NTB_EXTENTS:
		return role == RSM_CONTROL ? extents(open->port, user) : -EINVAL;
	case RSM_NTB_PIN:
		return role == RSM_EXPORT ? pin(open, user) : -EINVAL;
	case RSM_NTB_POST:
		return role == RSM_IMPORT ? rsm_post(open, value) : -EINVAL;
	case RSM_NTB_POSTS:
		return role == RSM_CONTROL ? rsm_posts(open->port, user) : -EINVAL;
	}
	return -ENOTTY;
}

/* ---- read() and poll() ---- */

/* Of the control descriptor. */
static ssize_t rsm_read(struct file *file, char __user *user, size_t size, loff_t *position)
{
	struct rsm_open *open = file->private_data;
	struct rsm_port *port = open->port;
	struct rsm_ntb_event event;
	ssize_t done = 0;
	int err;

	if (size < sizeof(event) ||
	    smp_load_acquire(&open->role) != RSM_CONTROL) /* with what belongs to it */
		return -EINVAL;
	while (!rsm_has_events(port)) {
		if (READ_ONCE(port->gone))
			return -ENODEV;
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(port->control_wait,
					       rsm_has_events(port) || READ_ONCE(port->gone));
		if (err)
			return err;
	}
	for (; size - done >= sizeof(event) && rsm_next_event(port, &event); done += sizeof(event))
		if (copy_to_user(user + done, &event, sizeof(event)))
			return -EFAULT;
	return done ? done : -EAGAIN; /* another reader was faster */
}

static __poll_t rsm_poll(struct file *file, poll_table *table)
{
	struct rsm_open *open = file->private_data;
	struct rsm_port *port = open->port;

	if (smp_load_acquire(&open->role) != RSM_CONTROL) /* with what belongs to it */
		return READ_ONCE(port->gone) ? EPOLLHUP : 0;
	poll_wait(file, &port->control_wait, table);
	return (READ_ONCE(port->gone) ? EPOLLHUP : 0) |
	       (rsm_has_events(port) ? EPOLLIN | EPOLLRDNORM : 0);
}

const struct file_operations rsm_fops = {
	.owner = THIS_MODULE,
	.open = rsm_open,
	.release = rsm_release,
	.unlocked_ioctl = rsm_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = rsm_read,
	.poll = rsm_poll,
	.mmap = rsm_mmap,
};
