/*
 * record.c
 *		Changing pages: the only caller of GenericXLog, and page initialisation.
 *
 * A record covers at most 4 pages, all held EXCLUSIVE by the caller from before
 * the first change until vx_record_finish returns.  Pages are changed in copies,
 * so an error before finish changes nothing.
 */
#include "postgres.h"

#include "access/generic_xlog.h"

#include "page/page.h"

VxRecord *
vx_record_begin(Relation index)
{
	return (VxRecord *) GenericXLogStart(index);
}

Page
vx_record_page(VxRecord *record, Buffer buffer, bool fresh)
{
	return GenericXLogRegisterBuffer((GenericXLogState *) record, buffer,
									 fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
}

void
vx_record_finish(VxRecord *record)
{
	GenericXLogFinish((GenericXLogState *) record);
}

void
vx_init_page(Page page, VxPageKind kind)
{
	VxPageSpecial *special;

	PageInit(page, BLCKSZ, sizeof(VxPageSpecial));
	special = vx_page_special(page);
	special->kind = kind;
	special->format = VX_FORMAT;
	special->flags = 0;
	special->page_id = VX_PAGE_ID;
}

void
vx_page_set_used(Page page, Size used)
{
	Assert(used >= VX_PAGE_BODY && used <= VX_PAGE_END);
	((PageHeader) page)->pd_lower = used;
}

void
vx_page_raise_used(Page page, Size used)
{
	if (((PageHeader) page)->pd_lower < used)
		vx_page_set_used(page, used);
}

void
vx_init_lead(Page page, uint32 list_id, int slots, uint16 flags)
{
	VxLead *lead = vx_page_lead(page);

	vx_init_page(page, VX_PAGE_LEAD);
	lead->list_id = list_id;
	lead->next = InvalidBlockNumber;
	lead->slots = slots;
	lead->flags = flags;
	/* Planes lie at fixed places, so the page has no hole. */
	vx_page_set_used(page, VX_PAGE_END);
}

void
vx_init_head(Page page, uint32 list_id, int slots, uint16 flags,
			 BlockNumber block)
{
	VxLead *lead = vx_page_lead(page);

	vx_init_lead(page, list_id, slots, flags | VX_LEAD_HEAD);
	lead->insert_block = block;
	lead->tail_block = block;
	lead->lead_pages = 1;
	lead->lead_run = 1;
	lead->run_next = InvalidBlockNumber;
	lead->run_end = InvalidBlockNumber;
	lead->cent_block = InvalidBlockNumber;
}

void
vx_init_dir(Page page)
{
	vx_init_page(page, VX_PAGE_DIR);
	vx_page_dir(page)->next = InvalidBlockNumber;
	vx_page_set_used(page, VX_DIR_ENTRIES_AT);
}

void
vx_init_cent(Page page, int dims)
{
	int capacity = vx_cent_per_page(dims);
	VxCentHeader *header = vx_page_cent(page);

	vx_init_page(page, VX_PAGE_CENT);
	header->next = InvalidBlockNumber;
	header->capacity = capacity > 0 ? capacity : 1;
	/* Slots lie at fixed places; a chained vector fills its page. */
	vx_page_set_used(page, VX_PAGE_END);
}

void
vx_init_code(Page page, const VxCode *owner)
{
	vx_init_page(page, VX_PAGE_CODE);
	*vx_page_code(page) = *owner;
	vx_page_set_used(page, VX_CODE_DATA_AT);
}
